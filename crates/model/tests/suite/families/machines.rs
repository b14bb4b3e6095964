//! Machines as they stand in public collections of core-to-core latencies, by family: how their CPUs are grouped and
//! what a transfer takes, in ns.

use fastrand::Rng;

/// Units that contain each other, from the outside in.
pub const SOCKET: usize = 0;
pub const DIE: usize = 1;
pub const CLUSTER: usize = 2;
pub const CORE: usize = 3;

/// Where a CPU is.
#[derive(Clone)]
struct Place {
    /// Its unit at each level, numbered throughout the machine.
    units: [usize; 4],
    /// Its stop on the ring or mesh of its socket, 0 to 1.
    stop: f64,
    /// How much longer its transfers take than those of the machine's quickest cores.
    slow: f64,
}

pub struct Machine {
    pub family: &'static str,
    cpus: Vec<Place>,
    /// Time of CPUs that share a core, a cluster, a die, a socket, nothing but the machine.
    ns: [f64; 5],
    /// How much longer the farthest stops of one socket take than neighbours, as a share.
    pub slope: f64,
    /// The die that is home to the lines of all pairs.
    home: Option<usize>,
}

pub const FAMILIES: [fn(&mut Rng) -> Machine; 11] = [
    ring,
    hybrid,
    mesh,
    epyc,
    epyc_with_home,
    threadripper,
    flat_arm,
    clustered_arm,
    small_clusters,
    power,
    virtual_machine,
];

fn among(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * rng.f64()
}

/// A machine of like units: sockets, dies in each, clusters in each, cores in each, threads of each.
fn regular(rng: &mut Rng, family: &'static str, counts: [usize; 5], ns: [f64; 5], slope: f64) -> Machine {
    let [sockets, dies, clusters, cores, threads] = counts;
    let mut cpus = Vec::new();
    // The stops' order is the cores' in half of the machines, and any in the others.
    let per_socket = dies * clusters * cores;
    let mut stops: Vec<usize> = (0..per_socket).collect();
    if rng.bool() {
        rng.shuffle(&mut stops);
    }
    let numbered_apart = rng.bool();
    for thread in 0..threads {
        for core in 0..sockets * per_socket {
            let units = [core / per_socket, core / (clusters * cores), core / cores, core];
            let stop = stops[core % per_socket] as f64 / per_socket as f64;
            let place = Place { units, stop, slow: 1.0 };
            let at = if numbered_apart { cpus.len() } else { (core * (thread + 1) + thread).min(cpus.len()) };
            cpus.insert(at, place);
        }
    }
    Machine { family, cpus, ns, slope, home: None }
}

fn threads(rng: &mut Rng) -> usize {
    1 + usize::from(rng.u8(..3) > 0)
}

/// One ring of alike cores.
fn ring(rng: &mut Rng) -> Machine {
    let (cores, threads) = ([2, 4, 4, 6, 6, 8, 8, 10, 12][rng.usize(..9)], threads(rng));
    let core = among(rng, 25.0, 50.0);
    let smt = core / if rng.u8(..4) == 0 { among(rng, 1.15, 3.0) } else { among(rng, 3.0, 8.0) };
    let slope = if rng.u8(..4) == 0 { 0.005 } else { among(rng, 0.05, 0.45) };
    regular(rng, "ring", [1, 1, 1, cores, threads], [smt, core, core, core, core], slope)
}

/// Performance cores with two threads beside clusters of four efficiency cores.
fn hybrid(rng: &mut Rng) -> Machine {
    let (cores, clusters) = (2 + 2 * rng.usize(..4), 1 + rng.usize(..4));
    let core = among(rng, 28.0, 42.0);
    // Efficiency cores of one cluster are near each other in some machines, and in others as far as any.
    let near = if rng.bool() { 1.0 } else { among(rng, 0.45, 0.75) };
    let slow = among(rng, 1.0, 1.2);
    let threads = 1 + usize::from(rng.u8(..4) > 0);
    let ns = [core / among(rng, 4.0, 8.0), core * near, core, core, core];
    let mut cpus = Vec::new();
    for at in 0..cores * threads {
        let core = at / threads;
        let stop = core as f64 / (cores + clusters) as f64;
        // Each performance core is a cluster of its own.
        cpus.push(Place { units: [0, 0, core, core], stop, slow: 1.0 });
    }
    for at in 0..4 * clusters {
        let cluster = cores + at / 4;
        let stop = cluster as f64 / (cores + clusters) as f64;
        cpus.push(Place { units: [0, 0, cluster, cores + at], stop, slow });
    }
    Machine { family: "hybrid", cpus, ns, slope: among(rng, 0.02, 0.2), home: None }
}

/// Sockets with a mesh, divided into memory nodes or not.
fn mesh(rng: &mut Rng) -> Machine {
    let sockets = [1, 1, 2, 2, 2, 4, 8][rng.usize(..7)];
    let dies = [1, 1, 2, 4][rng.usize(..4)];
    let cores = ([8, 10, 12, 16, 20, 28, 32, 40][rng.usize(..8)] / dies).max(2);
    let core = among(rng, 35.0, 60.0);
    let socket = core * if dies > 1 { among(rng, 1.05, 1.3) } else { 1.0 };
    let ns = [core / among(rng, 4.0, 8.0), core, core, socket, socket * among(rng, 1.9, 3.5)];
    let (threads, slope) = (threads(rng), among(rng, 0.05, 0.4));
    regular(rng, "mesh", [sockets, dies, 1, cores, threads], ns, slope)
}

/// Chiplets, whose clusters of 1 to 8 cores share an L3.
fn epyc(rng: &mut Rng) -> Machine {
    let sockets = [1, 2][rng.usize(..2)];
    let (dies, clusters) = [(1, 2), (2, 1), (4, 1), (4, 2), (8, 1), (12, 1), (8, 2)][rng.usize(..7)];
    let cores = [2, 3, 4, 4, 6, 8, 8][rng.usize(..7)];
    let cluster = among(rng, 17.0, 32.0);
    let die = cluster * among(rng, 3.2, 5.0);
    let socket = die * among(rng, 1.0, 1.25);
    let ns = [cluster / among(rng, 2.0, 3.0), cluster, die, socket, socket * among(rng, 1.6, 2.3)];
    let (threads, slope) = (threads(rng), among(rng, 0.02, 0.15));
    regular(rng, "epyc", [sockets, dies, clusters, cores, threads], ns, slope)
}

fn epyc_with_home(rng: &mut Rng) -> Machine {
    let mut machine = epyc(rng);
    while machine.units(DIE).len() < 4 {
        machine = epyc(rng);
    }
    machine.slope *= among(rng, 1.0, 3.0);
    machine.ns[3] *= among(rng, 1.0, 1.3);
    machine.family = "epyc with home";
    machine.home = Some(rng.usize(..machine.units(DIE).len()));
    machine
}

fn threadripper(rng: &mut Rng) -> Machine {
    let (dies, clusters) = [(2, 1), (2, 2), (4, 1), (4, 2), (8, 1)][rng.usize(..5)];
    let cluster = among(rng, 18.0, 28.0);
    let die = cluster * among(rng, 3.0, 4.0);
    let ns = [cluster / among(rng, 2.0, 2.8), cluster, die, die * among(rng, 1.0, 1.8), 0.0];
    let cores = [3, 4, 6, 8][rng.usize(..4)];
    let slope = among(rng, 0.02, 0.1);
    let mut machine = regular(rng, "threadripper", [1, dies, clusters, cores, 2], ns, slope);
    if rng.u8(..3) == 0 && machine.units(DIE).len() > 2 {
        machine.home = Some(0);
    }
    machine
}

/// Server meshes of one thread a core, one or two sockets.
fn flat_arm(rng: &mut Rng) -> Machine {
    let (sockets, cores) = ([1, 1, 2][rng.usize(..3)], [16, 32, 64, 80, 96, 128][rng.usize(..6)]);
    let core = among(rng, 30.0, 60.0);
    let (slope, far) = (among(rng, 0.1, 0.8), core * among(rng, 3.0, 8.0));
    regular(rng, "flat arm", [sockets, 1, 1, cores, 1], [core, core, core, core, far], slope)
}

/// Clusters of four cores in dies in sockets.
fn clustered_arm(rng: &mut Rng) -> Machine {
    let counts = [rng.usize(1..=2), rng.usize(1..=2), [4, 6, 8][rng.usize(..3)], 4, 1];
    let cluster = among(rng, 20.0, 50.0);
    let die = cluster * among(rng, 1.35, 3.0);
    let socket = die * among(rng, 1.3, 2.2);
    let ns = [cluster, cluster, die, socket, socket * among(rng, 1.5, 2.5)];
    let slope = among(rng, 0.02, 0.15);
    regular(rng, "clustered arm", counts, ns, slope)
}

/// Few clusters of two or four cores: small boards, tablets.
fn small_clusters(rng: &mut Rng) -> Machine {
    let (clusters, cores) = [(2, 2), (4, 2), (8, 2), (2, 4), (3, 4), (2, 3)][rng.usize(..6)];
    let cluster = among(rng, 25.0, 80.0);
    let far = cluster * among(rng, 1.5, 4.0);
    regular(rng, "small clusters", [1, 1, clusters, cores, 1], [cluster, cluster, far, far, far], 0.05)
}

/// Cores of four and eight threads.
fn power(rng: &mut Rng) -> Machine {
    let (sockets, cores, threads) =
        ([1, 1, 2, 4][rng.usize(..4)], [4, 6, 8, 12][rng.usize(..4)], [4, 8][rng.usize(..2)]);
    let smt = among(rng, 10.0, 20.0);
    let core = smt * among(rng, 1.8, 5.0);
    let ns = [smt, core, core, core, core * among(rng, 1.6, 3.0)];
    let slope = among(rng, 0.02, 0.3);
    regular(rng, "power", [sockets, 1, 1, cores, threads], ns, slope)
}

/// A few CPUs that are all alike.
fn virtual_machine(rng: &mut Rng) -> Machine {
    let (cores, core) = (rng.usize(2..=16), among(rng, 15.0, 120.0));
    regular(rng, "virtual machine", [1, 1, 1, cores, 1], [core; 5], 0.0)
}

impl Machine {
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// The CPUs of each unit of a level.
    pub fn units(&self, level: usize) -> Vec<Vec<usize>> {
        let mut units = std::collections::BTreeMap::<usize, Vec<usize>>::new();
        for (cpu, place) in self.cpus.iter().enumerate() {
            units.entry(place.units[level]).or_default().push(cpu);
        }
        let mut units: Vec<_> = units.into_values().collect();
        units.sort();
        units
    }

    fn apart(&self, a: &Place, b: &Place) -> f64 {
        let level = (SOCKET..=CORE).rev().find(|&level| a.units[level] == b.units[level]);
        let ns = self.ns[level.map_or(4, |level| 3 - level)];
        let stops = if level == Some(CORE) { 0.0 } else { (a.stop - b.stop).abs() };
        ns * (1.0 + self.slope * stops) * if level == Some(CORE) { 1.0 } else { (a.slow * b.slow).sqrt() }
    }

    /// The time of a transfer. Where a die is home to all lines, those that leave a cluster take the way around.
    pub fn time(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (&self.cpus[a], &self.cpus[b]);
        match self.home {
            Some(home) if a.units[CLUSTER] != b.units[CLUSTER] => {
                let to_home = |cpu: &Place| {
                    let nearest = self.cpus.iter().filter(|other| other.units[DIE] == home);
                    let ns = nearest.map(|other| self.apart(cpu, other)).fold(f64::INFINITY, f64::min);
                    ns.max(self.ns[2])
                };
                (self.apart(a, b) + to_home(a) + to_home(b)) / 2.0
            }
            _ => self.apart(a, b),
        }
    }
}
