//! What the machines of the published matrices are, and what may be claimed of them instead.

use coho_topology::{Cache, CacheKind, CpuSet, Pu, Topology, Unit};

/// Where a CPU is: its package, and who shares its caches and its core; `None` where there is no such cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub package: u32,
    pub l3: Option<u32>,
    pub l2: Option<u32>,
    pub core: u32,
}

/// A machine: its matrix, and where each CPU is.
pub struct Machine {
    pub matrix: &'static str,
    place: fn(u32) -> Place,
    /// Whether a wrong claim can be told: not from noise.
    pub tells: bool,
}

const fn machine(matrix: &'static str, place: fn(u32) -> Place) -> Machine {
    Machine { matrix, place, tells: true }
}

/// Cores with an L2 each.
fn place(package: u32, l3: u32, core: u32) -> Place {
    Place { package, l3: Some(l3), l2: Some(core), core }
}

pub const MACHINES: [Machine; 22] = [
    machine("kcores_AMD_FX-8300_8-Core_Processor_by-kassane", |cpu| Place {
        l2: Some(cpu / 2),
        ..place(0, 0, cpu)
    }),
    machine("kcores_Dual_AMD_EPYC_7601_32-Core_Processor_by-jstzwj", |cpu| {
        place(cpu % 64 / 32, cpu % 64 / 4, cpu % 64)
    }),
    machine("kcores_Intel_Core_2_Quad_Processor_Q9550_2.83GHz_by-yowanvista", |cpu| Place {
        package: 0,
        l3: None,
        l2: Some(cpu / 2),
        core: cpu,
    }),
    machine("kcores_Intel_Xeon_E5-2697v3_HT-off_by-miyconst", |cpu| place(0, 0, cpu)),
    machine("kcores_Quad_Intel_Xeon_E5-4650v2_2.4GHz_by-AlloyBronya", |cpu| {
        place(cpu / 20, cpu / 20, cpu / 2)
    }),
    // Which CPUs share a core is told by nobody: both ways of numbering are held against it.
    Machine {
        tells: false,
        ..machine("kcores_AMD_Ryzen_5_5500_6-Core_Processor_by-Besnn", |cpu| place(0, 0, cpu / 2))
    },
    Machine {
        tells: false,
        ..machine("kcores_AMD_Ryzen_5_5500_6-Core_Processor_by-Besnn", |cpu| place(0, 0, cpu % 6))
    },
    machine("kcores_Dual_AMD_EPYC_7302_16-Core_Processor_by-herver", |cpu| {
        place(cpu % 32 / 16, cpu % 32 / 2, cpu % 32)
    }),
    machine("kcores_Loongson_3A6000HV_2.5GHz_4_Cores_2023-Q4_by-KatyushaScarlet", |cpu| place(0, 0, cpu / 2)),
    machine("kcores_Dual_Loongson_3B4000", |cpu| place(cpu / 4, cpu / 4, cpu)),
    machine("nviennot_AMD_EPYC_7773X", |cpu| place(0, cpu % 64 / 8, cpu % 64)),
    machine("nviennot_AMD_EPYC_7R13_48-Core_Processor", |cpu| place(cpu % 96 / 48, cpu % 96 / 8, cpu % 96)),
    machine("nviennot_AMD_Ryzen_7_2700X_Eight-Core_Processor", |cpu| place(0, cpu / 8, cpu / 2)),
    machine("nviennot_AMD_Ryzen_9_5950X_3.40_GHz", |cpu| place(0, cpu % 16 / 8, cpu % 16)),
    machine("nviennot_AMD_Ryzen_9_7950X", |cpu| place(0, cpu / 16, cpu / 2)),
    machine("nviennot_AMD_Ryzen_Threadripper_1950X", |cpu| place(0, cpu % 16 / 4, cpu % 16)),
    machine("nviennot_AWS_Graviton3", |cpu| place(0, 0, cpu)),
    machine("nviennot_Apple_M1_Pro", |cpu| Place {
        package: 0,
        l3: None,
        l2: Some((cpu + 1) / 3),
        core: cpu,
    }),
    machine("hydroo_Apple_A18_Pro", |cpu| Place { package: 0, l3: None, l2: Some(cpu / 4), core: cpu }),
    machine("nviennot_Dual_Intel_R_Xeon_Gold_6242_2.8GHz", |cpu| {
        place(cpu % 32 / 16, cpu % 32 / 16, cpu % 32)
    }),
    machine("nviennot_Dual_Intel_R_Xeon_R_CPU_X5650_2.67GHz", |cpu| {
        place(cpu % 12 / 6, cpu % 12 / 6, cpu % 12)
    }),
    machine("nviennot_Intel_Core_i9-12900K", |cpu| match cpu {
        0..16 => place(0, 0, cpu / 2),
        _ => Place { l2: Some(cpu / 4 + 96), ..place(0, 0, cpu) },
    }),
];

/// Two performance cores of two threads, two clusters of efficiency cores, and one without an L3.
pub const HYBRID: Machine = machine("nviennot_Intel_Core_Ultra_7_155U", |cpu| match cpu {
    0 | 1 => place(0, 0, 0),
    10 | 11 => place(0, 0, 10),
    12.. => Place { package: 0, l3: None, l2: Some(99), core: cpu },
    _ => Place { l2: Some((cpu - 2) / 4 + 90), ..place(0, 0, cpu) },
});

impl Machine {
    pub fn places(&self, cpus: u32) -> Vec<Place> {
        (0..cpus).map(self.place).collect()
    }
}

/// The topology that has CPUs there.
pub fn claimed(places: &[Place]) -> Topology {
    let groups = |of: &dyn Fn(&Place) -> Option<u32>| -> Vec<CpuSet> {
        let mut groups = std::collections::BTreeMap::<u32, CpuSet>::new();
        for (cpu, place) in (0u32..).zip(places) {
            if let Some(unit) = of(place) {
                let group = groups.entry(unit).or_insert_with(|| CpuSet::up_to(0));
                *group = group.iter().chain([cpu]).collect();
            }
        }
        groups.into_values().collect()
    };
    let units = |of: &dyn Fn(&Place) -> Option<u32>| -> Vec<Unit> {
        groups(of).into_iter().map(|cpus| Unit { id: None, cpus }).collect()
    };
    let caches = |level: u8, of: &dyn Fn(&Place) -> Option<u32>| -> Vec<Cache> {
        let cache = |cpus| Cache {
            level,
            kind: CacheKind::Unified,
            size_bytes: 1 << 20,
            line_bytes: Some(64),
            ways: None,
            cpus,
        };
        groups(of).into_iter().map(cache).collect()
    };
    let mut topology = Topology {
        pus: (0..places.len() as u32).map(|os| Pu { os, ..Pu::default() }).collect(),
        packages: units(&|place| Some(place.package)),
        cores: units(&|place| Some(place.core)),
        caches: caches(2, &|place| place.l2).into_iter().chain(caches(3, &|place| place.l3)).collect(),
        ..Topology::default()
    };
    topology.finish();
    topology
}

/// Claims that are wrong, by name, of a machine of which this is true.
pub fn wrong_claims(truth: &[Place]) -> Vec<(&'static str, Vec<Place>)> {
    let n = truth.len() as u32;
    let each = |change: &dyn Fn(u32, Place) -> Place| -> Vec<Place> {
        (0u32..).zip(truth).map(|(cpu, place)| change(cpu, *place)).collect()
    };
    let has_threads =
        (1..truth.len()).any(|cpu| truth[..cpu].iter().any(|other| other.core == truth[cpu].core));
    let with_cores = |core: &dyn Fn(u32) -> u32| {
        each(&|cpu, place| Place { core: core(cpu), l2: Some(core(cpu)), ..place })
    };
    let mut l3s: Vec<u32> = truth.iter().filter_map(|place| place.l3).collect();
    l3s.sort_unstable();
    l3s.dedup();
    let l3_of = |cpu: u32| truth[cpu as usize].l3;
    let mut wrong = vec![
        ("flat", each(&|cpu, place| Place { package: 0, l3: place.l3.map(|_| 0), l2: Some(cpu), core: cpu })),
        ("one L3", each(&|_, place| Place { package: 0, l3: place.l3.map(|_| 0), ..place })),
        ("own packages", each(&|cpu, _| Place { package: cpu, ..place_of_own(cpu) })),
    ];
    if has_threads {
        wrong.push(("no threads", with_cores(&|cpu| cpu)));
        wrong.push(("threads side by side", with_cores(&|cpu| cpu / 2)));
        wrong.push(("threads in two halves", with_cores(&|cpu| cpu % n.div_ceil(2))));
    } else {
        wrong.push(("invented threads", with_cores(&|cpu| cpu / 2)));
    }
    if l3s.len() > 1 {
        let merged = |cpu: u32, place: Place| Place {
            l3: l3_of(cpu).map(|l3| if l3 == l3s[1] { l3s[0] } else { l3 }),
            package: 0,
            ..place
        };
        wrong.push(("two L3s as one", each(&merged)));
        let count = l3s.len() as u32;
        // Cores stay whole.
        let scattered = |_: u32, place: Place| Place { l3: Some(place.core % count), package: 0, ..place };
        wrong.push(("L3s of other cores", each(&scattered)));
    }
    let cores_of = |l3: Option<u32>| {
        let mut cores: Vec<u32> =
            truth.iter().filter(|place| place.l3 == l3).map(|place| place.core).collect();
        cores.sort_unstable();
        cores.dedup();
        cores
    };
    let split = |_: u32, place: Place| {
        let cores = cores_of(place.l3);
        let half = cores.iter().position(|core| *core == place.core).map_or(0, |at| 2 * at / cores.len());
        Place { l3: place.l3.map(|l3| 2 * l3 + half as u32), ..place }
    };
    if cores_of(truth[0].l3).len() > 3 && !l3s.is_empty() {
        wrong.push(("halved L3s", each(&split)));
    }
    // Two CPUs have changed places.
    let mut exchanged = truth.to_vec();
    exchanged.swap(1, truth.len() - 1);
    wrong.push(("two CPUs exchanged", exchanged));
    wrong.retain(|(_, places)| groups_differ(places, truth));
    wrong
}

fn place_of_own(cpu: u32) -> Place {
    Place { package: cpu, l3: Some(cpu), l2: Some(cpu), core: cpu }
}

/// Whether some two CPUs share something in one of the machines only.
fn groups_differ(a: &[Place], b: &[Place]) -> bool {
    let shared = |places: &[Place], i: usize, j: usize| {
        let (i, j) = (places[i], places[j]);
        let cache = |a: Option<u32>, b: Option<u32>| a.is_some() && a == b;
        [i.package == j.package, cache(i.l3, j.l3), cache(i.l2, j.l2), i.core == j.core]
    };
    (0..a.len()).any(|i| (0..i).any(|j| shared(a, i, j) != shared(b, i, j)))
}
