//! All pairs of a machine: what is measured, and the results.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use coho_platform::cgroup;
use coho_profile::{Coherence, Home, Method, PairMethod, Single, StateRead};
use coho_topology::{Sharing, Topology};
use serde_json::json;

use super::arena::{Arena, LINES};
use super::cells::{Cell, kept};
use super::run::BATCH;
use super::schedule::{self, Pair, Rank, ranks};
use super::singles::Alone;
use super::steady;
use super::{MANY, Options, Pairs, patience, reads};
use crate::frame::Frame;
use crate::tries::Tries;
use crate::workers::{Done, Job};
use crate::{Around, Error, clock, statistics};

/// Where a CPU's lines live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Where its first touch puts them.
    Own,
    /// On this memory node.
    Node(u32),
}

/// A pair with its cells.
pub(super) struct Shared {
    pub(super) pair: Pair,
    pub(super) claimed: String,
    pub(super) cells: Vec<Cell>,
}

/// A survey under way.
pub(super) struct Survey<'a> {
    pub(super) options: &'a Options,
    methods: Vec<PairMethod>,
    homes: Vec<Home>,
    pub(super) topology: &'a Topology,
    pub(super) frame: Frame<'a>,
    pub(super) arenas: HashMap<(Rank, Place), Arena>,
    pub(super) shared: Vec<Shared>,
    pub(super) alone: Vec<Vec<Alone>>,
    /// CPUs that can no longer be used, and why.
    pub(super) lost: BTreeMap<u32, String>,
    /// Time that the passes over pairs took.
    pub(super) visiting: Duration,
    /// Pairs whose lines are compared one by one, and the time that this took.
    pub(super) by_line: Vec<usize>,
    pub(super) measuring_by_line: Duration,
    pub(super) widths: BTreeMap<String, usize>,
    /// How many pairs were drawn at random, if a sample stands for all.
    pub(super) drawn: Option<usize>,
    reads: Vec<StateRead>,
    clock: Tries,
}

impl<'a> Survey<'a> {
    /// Begins on at least so many CPUs.
    pub(super) fn start(
        options: &'a Options,
        around: &'a mut Around<'_>,
        fewest: usize,
    ) -> Result<Self, Error> {
        let topology = around.topology;
        let frame = Frame::on(&options.course, around.progress)?;
        let n = frame.cpus.len();
        // Checked only now: if the one CPU asked for does not exist, that error should come first.
        if n < fewest {
            return Err(Error::argument(format!(
                "sharing needs two CPUs, but there is only {n}{}",
                coho_platform::pin::way_round()
            )));
        }
        let (methods, homes): (&[_], &[_]) = if n > MANY {
            (&[PairMethod::Turn], &[Home::A])
        } else {
            (&[PairMethod::Turn, PairMethod::Flags, PairMethod::FreeRunning], &[Home::A, Home::B])
        };
        let mut survey = Self {
            options,
            methods: if options.methods.is_empty() { methods.to_vec() } else { options.methods.clone() },
            homes: if options.homes.is_empty() { homes.to_vec() } else { options.homes.clone() },
            topology,
            frame,
            arenas: HashMap::new(),
            shared: Vec::new(),
            alone: vec![Vec::new(); n],
            lost: BTreeMap::new(),
            visiting: Duration::ZERO,
            by_line: Vec::new(),
            measuring_by_line: Duration::ZERO,
            widths: BTreeMap::new(),
            drawn: None,
            reads: Vec::new(),
            clock: Tries::default(),
        };
        survey.measure_clock();
        survey.lay_out()?;
        Ok(survey)
    }

    /// The values of jobs that ran on these CPUs; records CPUs that are lost.
    pub(super) fn take_note<T>(
        &mut self,
        cpus: &[u32],
        results: Vec<Result<Done<T>, Error>>,
    ) -> Vec<Option<T>> {
        let mut values = Vec::with_capacity(results.len());
        for (&cpu, result) in cpus.iter().zip(results) {
            values.push(match result {
                Ok(done) => Some(self.frame.value(done)),
                Err(error) => {
                    self.lost.insert(cpu, error.to_string());
                    None
                }
            });
        }
        values
    }

    /// The value of one job on one CPU.
    pub(super) fn run<T: Send>(&mut self, cpu: u32, job: Job<'_, T>) -> Option<T> {
        let results = self.frame.workers.run(vec![(cpu, job)]);
        self.take_note(&[cpu], results).pop().flatten()
    }

    /// The lines that a CPU's own touch has placed, for any home.
    pub(super) fn own_arena(&self, rank: Rank) -> Option<&Arena> {
        self.arenas.get(&(rank, Place::Own))
    }

    /// Measures the CPUs' frequency once more; takes about 1 ms.
    pub(super) fn measure_clock(&mut self) {
        let Some(&cpu) = self.frame.cpus.iter().find(|cpu| !self.lost.contains_key(cpu)) else { return };
        if let Some(result) = self.run(cpu, Box::new(clock::effective_ghz)) {
            self.clock.add(result);
        }
    }

    /// Places the lines, and decides which pairs there are unless a sample does.
    fn lay_out(&mut self) -> Result<(), Error> {
        let n = self.frame.cpus.len();
        ranks(n).try_for_each(|rank| self.arena((rank, Place::Own)))?;
        let pairs = match self.options.pairs {
            _ if self.samples() => Vec::new(),
            Pairs::Audit => schedule::audit(&self.frame.cpus, self.topology),
            _ => ranks(n).flat_map(|a| ranks(n).skip(a.0 + 1).map(move |b| (a, b))).collect(),
        };
        self.add(pairs)
    }

    /// Whether a sample of the pairs stands for all.
    pub(super) fn samples(&self) -> bool {
        match self.options.pairs {
            Pairs::Sample => true,
            Pairs::Enough => self.frame.cpus.len() > MANY,
            Pairs::All | Pairs::Audit => false,
        }
    }

    /// Decides which cells these pairs have.
    pub(super) fn add(&mut self, pairs: Vec<Pair>) -> Result<(), Error> {
        let sharing = Sharing::of(self.topology);
        for pair in pairs {
            let (a, b) = self.cpus_of(pair);
            let mut cells = Vec::new();
            for home in self.homes.clone() {
                let place = self.place(pair, home);
                // A container may refuse to bind memory to a node: the other homes are measured nevertheless.
                if let Err(why) = place.and_then(|place| self.arena(place).map_err(|error| error.to_string()))
                {
                    self.frame.method.not_available.entry(format!("home {}", name(&home))).or_insert(why);
                    continue;
                }
                for &method in &self.methods {
                    let kept = kept(self.options.resume.as_ref(), a, b, method, home);
                    cells.push(Cell::new(method, home, kept));
                }
            }
            self.shared.push(Shared { pair, claimed: sharing.claimed(a, b), cells });
        }
        Ok(())
    }

    /// Which CPU's lines a pair uses for a home, and where they are placed.
    pub(super) fn place(&self, (a, b): Pair, home: Home) -> Result<(Rank, Place), String> {
        let near =
            |rank: Rank| self.topology.numa_nodes.iter().position(|node| node.cpus.contains(self.cpu(rank)));
        match home {
            Home::A => Ok((a, Place::Own)),
            Home::B => Ok((b, Place::Own)),
            Home::Third => {
                let other = (0..self.topology.numa_nodes.len())
                    .find(|&node| Some(node) != near(a) && Some(node) != near(b) && self.has_memory(node));
                other.map(|node| (a, Place::Node(self.topology.numa_nodes[node].os))).ok_or_else(|| {
                    let nodes = self.topology.numa_nodes.len();
                    format!("there is no memory node beside those of the pair; the machine claims {nodes}")
                })
            }
            Home::Unknown => Err("a measured line always has a known home".into()),
        }
    }

    fn has_memory(&self, node: usize) -> bool {
        self.topology.numa_nodes[node].memory_bytes != Some(0)
    }

    fn arena(&mut self, (owner, place): (Rank, Place)) -> Result<(), Error> {
        if self.arenas.contains_key(&(owner, place)) {
            return Ok(());
        }
        let arena = Arena::map()?;
        if let Place::Node(node) = place {
            arena.pages().bind(node)?;
        }
        self.run(self.cpu(owner), Box::new(|| arena.pages().touch()));
        self.arenas.insert((owner, place), arena);
        Ok(())
    }

    pub(super) fn measure_reads(&mut self) {
        let (reads, not_available) = reads::measure(self);
        self.reads = reads;
        self.frame.method.not_available.extend(not_available);
    }

    pub(super) fn finish(mut self) -> Coherence {
        self.measure_clock();
        let mut coherence = Coherence {
            cpus: self.frame.cpus.clone(),
            singles: self.singles(),
            reads: std::mem::take(&mut self.reads),
            ..Coherence::default()
        };
        for shared in &self.shared {
            let (a, b) = self.cpus_of(shared.pair);
            coherence.pairs.extend(shared.cells.iter().filter_map(|cell| cell.pair(a, b, &shared.claimed)));
        }
        coherence.put_coherence_times(self.topology, self.clock.median());
        coherence.notes = self.notes(&coherence);
        self.frame.method.not_available.append(&mut coherence.method.not_available);
        coherence.method = self.method();
        coherence
    }

    /// The number of a CPU.
    pub(super) fn cpu(&self, rank: Rank) -> u32 {
        self.frame.cpus[rank.0]
    }

    /// The numbers of a pair's CPUs.
    pub(super) fn cpus_of(&self, (a, b): Pair) -> (u32, u32) {
        (self.cpu(a), self.cpu(b))
    }

    fn singles(&self) -> Vec<Single> {
        let figure = |index: usize, pick: fn(&Alone) -> &Vec<f64>| {
            statistics::estimate(
                &self.alone[index].iter().map(|alone| pick(alone).clone()).collect::<Vec<_>>(),
            )
        };
        self.frame
            .cpus
            .iter()
            .enumerate()
            .filter_map(|(index, &cpu)| {
                let name = self.topology.pu(cpu).map_or_else(|| format!("CPU{cpu}"), |pu| pu.name.clone());
                let locked_ns = figure(index, |alone| &alone.locked)?;
                let unlocked_ns = figure(index, |alone| &alone.unlocked)?;
                Some(Single { cpu, name, locked_ns, unlocked_ns })
            })
            .collect()
    }

    /// Wall time of all passes together for each pair, including all its methods and homes.
    fn ms_per_pair(&self) -> f64 {
        self.visiting.as_secs_f64() * 1e3 / self.shared.len().max(1) as f64
    }

    fn notes(&self, coherence: &Coherence) -> Vec<String> {
        let mut notes = Vec::new();
        let unstable: Vec<_> = coherence.pairs.iter().filter(|pair| pair.ns.stable == Some(false)).collect();
        if let Some(first) = unstable.first() {
            let modes: Vec<_> = first.ns.modes.iter().map(|mode| format!("{:.1}", mode.value)).collect();
            notes.push(format!(
                "{} did not keep to one value, as CPUs {} and {} by {}: {} ns ({:.1} to {:.1})",
                match coherence.pairs.len() {
                    1 => "the one figure".to_owned(),
                    all => format!("{} of {all} figures", unstable.len()),
                },
                first.a,
                first.b,
                name(&first.method),
                modes.join(" or "),
                first.ns.low,
                first.ns.high,
            ));
        }
        if self.options.course.cpus.is_empty() {
            let measured = self.frame.cpus.iter().copied().collect();
            let outside = self.topology.cpus().difference(&measured);
            if !outside.is_empty() {
                notes.push(format!(
                    "CPUs {outside} are online, but this process may use only {measured} (cpuset or affinity)"
                ));
            }
        }
        if let Some(quota) = cgroup::cpu_quota().filter(|&quota| quota < self.frame.cpus.len() as f64) {
            notes.push(format!(
                "a control group allows {quota} CPUs: both sides of a pair may be held up at once"
            ));
        }
        if self.topology.numa_nodes.len() > 1 {
            notes.extend(self.misplaced());
        }
        notes
    }

    /// A note on lines that are not on the intended node.
    fn misplaced(&self) -> Option<String> {
        let expected = |rank: Rank, place: Place| match place {
            Place::Node(node) => Some(node),
            Place::Own => {
                let own = self.topology.numa_nodes.iter().find(|node| node.cpus.contains(self.cpu(rank)));
                own.map(|node| node.os)
            }
        };
        let wrong = self.arenas.iter().filter(|((rank, place), arena)| {
            arena.pages().node().is_some_and(|node| Some(node) != expected(*rank, *place))
        });
        let count = wrong.count();
        (count > 0).then(|| format!("the lines of {count} CPUs do not live on the node of their first touch"))
    }

    fn method(mut self) -> Method {
        let options = self.options;
        if let Some(why) = self.clock.why_not() {
            self.frame.lacks("cycles", why);
        }
        for (cpu, why) in &self.lost {
            self.frame.lacks(format!("CPU {cpu}"), why);
        }
        let was_stopped = self.frame.end().was_heard();
        for shared in &self.shared {
            if shared.cells.iter().any(|cell| cell.estimate().is_none()) {
                let (a, b) = self.cpus_of(shared.pair);
                let lost = [a, b].into_iter().find(|cpu| self.lost.contains_key(cpu));
                let why = match lost {
                    Some(cpu) => format!("CPU {cpu} was lost"),
                    None if was_stopped => "stopped before".to_owned(),
                    None => "the two never ran at the same time".to_owned(),
                };
                self.frame.lacks(format!("pair {a},{b}"), why);
            }
        }
        let window =
            steady::window(self.shared.iter().flat_map(|shared| &shared.cells), options.resume.as_ref());
        let parameters = [
            ("methods", json!(self.methods.iter().map(name).collect::<Vec<_>>())),
            ("homes", json!(self.homes.iter().map(name).collect::<Vec<_>>())),
            ("batch_us", json!(BATCH.as_secs_f64() * 1e6)),
            ("stall_us", json!(patience::STALL.as_secs_f64() * 1e6)),
            ("lines", json!(LINES)),
            ("pairs_by_line", json!(self.pairs_by_line())),
            ("lines_by_line", json!(2 * LINES)),
            ("target_half_width", json!(options.target_half_width)),
            ("clock_ghz", json!(self.clock.median())),
            ("random_pairs", json!(self.drawn)),
            ("timer_step_ns", json!(clock::Clock::get().step_ns())),
            ("pairs_at_once", json!(self.widths)),
            ("ms_per_pair", json!(self.ms_per_pair())),
            ("least_passes", json!(window.map(|window| window.passes))),
            ("least_span_s", json!(window.map(|window| window.span_s))),
            ("read_buffers", json!(options.reads.then(|| reads::layout(options.quick)))),
        ];
        for (name, value) in parameters {
            self.frame.parameter(name, value);
        }
        self.frame.finish(DESCRIPTION)
    }
}

const DESCRIPTION: &str = "Median of short batches on lines of known home, in several passes of random order; batches in \
    which a CPU was away are counted and kept out.";

/// The name that a value has in the profile.
pub(super) fn name(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}
