//! All pairs of a machine: what is measured, and what comes of it.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use coho_platform::{cgroup, pin, stolen};
use coho_profile::{Coherence, Home, Method, Single, StateRead};
use coho_topology::{CpuSet, Topology};
use serde_json::json;

use super::arena::{Arena, LINES};
use super::cells::{Cell, kept};
use super::run::BATCH;
use super::schedule::{self, Pair};
use super::singles::Alone;
use super::steady::{self, is_stable};
use super::times::put_coherence_times;
use super::{Options, Pairs, patience, reads};
use crate::end::End;
use crate::tries::Tries;
use crate::workers::{Done, Job, Workers};
use crate::{Error, Progress, clock, statistics};

/// Measures what it costs the CPUs to share a line, as `options` say.
///
/// A stop ([`coho_platform::stop`]) or the time limit ends it early: what it has is returned, marked as interrupted. A CPU that
/// is lost on the way is left out from then on and named in `method.not_available`.
///
/// # Errors
/// If there are fewer than two CPUs, one of those asked for cannot be used, or memory is short.
pub fn measure(
    options: &Options,
    topology: &Topology,
    progress: &mut dyn FnMut(Progress),
) -> Result<Coherence, Error> {
    let mut survey = Survey::start(options, topology)?;
    survey.measure_pairs(progress)?;
    if options.reads {
        survey.measure_reads(progress);
    }
    Ok(survey.finish())
}

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
    pub(super) topology: &'a Topology,
    pub(super) cpus: Vec<u32>,
    pub(super) workers: Workers,
    pub(super) arenas: HashMap<(usize, Place), Arena>,
    pub(super) shared: Vec<Shared>,
    pub(super) alone: Vec<Vec<Alone>>,
    /// CPUs that can no longer be used, and why.
    pub(super) lost: BTreeMap<u32, String>,
    pub(super) random: fastrand::Rng,
    pub(super) passes: u64,
    /// Time that the passes over pairs took.
    pub(super) visiting: Duration,
    /// Pairs whose lines are compared one by one, and the time that this took.
    pub(super) by_line: Vec<usize>,
    pub(super) measuring_by_line: Duration,
    pub(super) widths: BTreeMap<String, usize>,
    pub(super) involuntary_switches: u64,
    pub(super) interrupted: bool,
    pub(super) not_available: BTreeMap<String, String>,
    reads: Vec<StateRead>,
    clock: Tries,
    pub(super) started: Instant,
    steal_before: Option<f64>,
}

impl<'a> Survey<'a> {
    fn start(options: &'a Options, topology: &'a Topology) -> Result<Self, Error> {
        let cpus = chosen(options)?;
        let workers = Workers::start(&cpus)?;
        // Only now: whoever asks for one CPU that does not exist should hear of that first.
        if cpus.len() < 2 {
            return Err(Error::other(format!("sharing takes two CPUs, there is {}", cpus.len())));
        }
        let mut survey = Self {
            options,
            topology,
            workers,
            arenas: HashMap::new(),
            shared: Vec::new(),
            alone: vec![Vec::new(); cpus.len()],
            lost: BTreeMap::new(),
            random: fastrand::Rng::with_seed(options.seed),
            passes: 0,
            visiting: Duration::ZERO,
            by_line: Vec::new(),
            measuring_by_line: Duration::ZERO,
            widths: BTreeMap::new(),
            involuntary_switches: 0,
            interrupted: false,
            not_available: BTreeMap::new(),
            reads: Vec::new(),
            clock: Tries::default(),
            started: Instant::now(),
            steal_before: stolen::steal_s(&cpus.iter().copied().collect()),
            cpus,
        };
        survey.measure_clock();
        survey.lay_out()?;
        Ok(survey)
    }

    /// Whether to stop here and keep what there is.
    pub(super) fn must_end(&mut self) -> bool {
        self.interrupted |= self.end().has_come();
        self.interrupted
    }

    /// When to stop, for jobs that take long.
    pub(super) fn end(&self) -> End {
        End::after(self.started, self.options.time_limit)
    }

    /// The values of jobs that ran on these CPUs; takes note of those that are lost.
    pub(super) fn take_note<T>(
        &mut self,
        cpus: &[u32],
        results: Vec<Result<Done<T>, Error>>,
    ) -> Vec<Option<T>> {
        let mut values = Vec::with_capacity(results.len());
        for (&cpu, result) in cpus.iter().zip(results) {
            values.push(match result {
                Ok(done) => {
                    self.involuntary_switches += done.involuntary_switches;
                    Some(done.value)
                }
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
        let results = self.workers.run(vec![(cpu, job)]);
        self.take_note(&[cpu], results).pop().flatten()
    }

    /// The lines that a CPU's own touch has placed, on any home's account.
    pub(super) fn own_arena(&self, index: usize) -> Option<&Arena> {
        self.arenas.get(&(index, Place::Own))
    }

    /// Tries once more how fast the CPUs run; about 1 ms.
    pub(super) fn measure_clock(&mut self) {
        let Some(&cpu) = self.cpus.iter().find(|cpu| !self.lost.contains_key(cpu)) else { return };
        if let Some(result) = self.run(cpu, Box::new(clock::effective_ghz)) {
            self.clock.add(result);
        }
    }

    /// Decides which cells there are and places their lines.
    fn lay_out(&mut self) -> Result<(), Error> {
        let n = self.cpus.len();
        (0..n).try_for_each(|index| self.arena((index, Place::Own)))?;
        let pairs = match self.options.pairs {
            Pairs::All => (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect(),
            Pairs::Audit => schedule::audit(&self.cpus, self.topology),
        };
        for pair in pairs {
            let (a, b) = (self.cpus[pair.0], self.cpus[pair.1]);
            let mut cells = Vec::new();
            for &home in &self.options.homes {
                let place = self.place(pair, home);
                // A container may refuse to bind memory to a node: the other homes are measured nevertheless.
                if let Err(why) = place.and_then(|place| self.arena(place).map_err(|error| error.to_string()))
                {
                    self.not_available.entry(format!("home {}", name(&home))).or_insert(why);
                    continue;
                }
                for &method in &self.options.methods {
                    let kept = kept(self.options.resume.as_ref(), a, b, method, home);
                    cells.push(Cell::new(method, home, kept));
                }
            }
            self.shared.push(Shared { pair, claimed: self.topology.claimed(a, b), cells });
        }
        Ok(())
    }

    /// Which CPU's lines a pair uses for a home.
    pub(super) fn place(&self, (a, b): Pair, home: Home) -> Result<(usize, Place), String> {
        let near = |index: usize| {
            self.topology.numa_nodes.iter().position(|node| node.cpus.contains(self.cpus[index]))
        };
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

    fn arena(&mut self, (owner, place): (usize, Place)) -> Result<(), Error> {
        if self.arenas.contains_key(&(owner, place)) {
            return Ok(());
        }
        let arena = Arena::map()?;
        if let Place::Node(node) = place {
            arena.pages().bind(node)?;
        }
        self.run(self.cpus[owner], Box::new(|| arena.pages().touch()));
        self.arenas.insert((owner, place), arena);
        Ok(())
    }

    fn measure_reads(&mut self, progress: &mut dyn FnMut(Progress)) {
        let (reads, not_available) = reads::measure(self, progress);
        self.reads = reads;
        self.not_available.extend(not_available);
    }

    fn finish(mut self) -> Coherence {
        self.measure_clock();
        let mut coherence = Coherence {
            method: self.method(),
            cpus: self.cpus.clone(),
            singles: self.singles(),
            reads: self.reads.clone(),
            ..Coherence::default()
        };
        for shared in &self.shared {
            let (a, b) = (self.cpus[shared.pair.0], self.cpus[shared.pair.1]);
            coherence.pairs.extend(shared.cells.iter().filter_map(|cell| cell.pair(a, b, &shared.claimed)));
        }
        put_coherence_times(&mut coherence, self.topology, self.clock.median());
        coherence.stable = is_stable(&coherence);
        coherence.notes = self.notes(&coherence);
        coherence
    }

    fn singles(&self) -> Vec<Single> {
        let figure = |index: usize, pick: fn(&Alone) -> &Vec<f64>| {
            statistics::estimate(
                &self.alone[index].iter().map(|alone| pick(alone).clone()).collect::<Vec<_>>(),
            )
        };
        self.cpus
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

    /// Wall time of all passes together for each pair, all its methods and homes included.
    fn ms_per_pair(&self) -> f64 {
        self.visiting.as_secs_f64() * 1e3 / self.shared.len().max(1) as f64
    }

    fn notes(&self, coherence: &Coherence) -> Vec<String> {
        let mut notes = Vec::new();
        let unstable: Vec<_> = coherence.pairs.iter().filter(|pair| pair.ns.stable == Some(false)).collect();
        if let Some(first) = unstable.first() {
            let modes: Vec<_> = first.ns.modes.iter().map(|mode| format!("{:.1}", mode.value)).collect();
            notes.push(format!(
                "{} of {} figures did not keep to one value, as CPUs {} and {} by {}: {} ns ({:.1} to {:.1})",
                unstable.len(),
                coherence.pairs.len(),
                first.a,
                first.b,
                name(&first.method),
                modes.join(" or "),
                first.ns.low,
                first.ns.high,
            ));
        }
        if self.options.cpus.is_empty() {
            let measured = self.cpus.iter().copied().collect();
            let outside = self.topology.cpus().difference(&measured);
            if !outside.is_empty() {
                notes.push(format!(
                    "CPUs {outside} are online, but this process may use only {measured} (cpuset or affinity)"
                ));
            }
        }
        if let Some(quota) = cgroup::cpu_quota().filter(|&quota| quota < self.cpus.len() as f64) {
            notes.push(format!(
                "a control group allows {quota} CPUs: both sides of a pair may be held up at once"
            ));
        }
        if self.topology.numa_nodes.len() > 1 {
            notes.extend(self.misplaced());
        }
        notes
    }

    /// Lines that do not live where they were meant to.
    fn misplaced(&self) -> Option<String> {
        let expected = |index: usize, place: Place| match place {
            Place::Node(node) => Some(node),
            Place::Own => {
                let own = self.topology.numa_nodes.iter().find(|node| node.cpus.contains(self.cpus[index]));
                own.map(|node| node.os)
            }
        };
        let wrong = self.arenas.iter().filter(|((index, place), arena)| {
            arena.pages().node().is_some_and(|node| Some(node) != expected(*index, *place))
        });
        let count = wrong.count();
        (count > 0).then(|| format!("the lines of {count} CPUs do not live on the node of their first touch"))
    }

    fn method(&self) -> Method {
        let options = self.options;
        let mut not_available = self.not_available.clone();
        if let Some(why) = self.clock.why_not() {
            not_available.insert("cycles".into(), why.to_owned());
        }
        for (cpu, why) in &self.lost {
            not_available.insert(format!("CPU {cpu}"), why.clone());
        }
        for shared in &self.shared {
            if shared.cells.iter().any(|cell| cell.estimate().is_none()) {
                let (a, b) = (self.cpus[shared.pair.0], self.cpus[shared.pair.1]);
                let lost = [a, b].into_iter().find(|cpu| self.lost.contains_key(cpu));
                let why = match lost {
                    Some(cpu) => format!("CPU {cpu} was lost"),
                    None if self.interrupted => "stopped before".to_owned(),
                    None => "the two never ran at the same time".to_owned(),
                };
                not_available.insert(format!("pair {a},{b}"), why);
            }
        }
        let names = |values: Vec<String>| json!(values);
        let window =
            steady::window(self.shared.iter().flat_map(|shared| &shared.cells), options.resume.as_ref());
        let parameters = [
            ("seed", json!(options.seed)),
            ("methods", names(options.methods.iter().map(name).collect())),
            ("homes", names(options.homes.iter().map(name).collect())),
            ("batch_us", json!(BATCH.as_secs_f64() * 1e6)),
            ("stall_us", json!(patience::STALL.as_secs_f64() * 1e6)),
            ("lines", json!(LINES)),
            ("pairs_by_line", json!(self.pairs_by_line())),
            ("lines_by_line", json!(2 * LINES)),
            ("target_half_width", json!(options.target_half_width)),
            ("clock_ghz", json!(self.clock.median())),
            ("timer_step_ns", json!(clock::Clock::get().step_ns())),
            ("pairs_at_once", json!(self.widths)),
            ("ms_per_pair", json!(self.ms_per_pair())),
            ("least_passes", json!(window.map(|window| window.passes))),
            ("least_span_s", json!(window.map(|window| window.span_s))),
            ("read_buffers", json!(self.options.reads.then(|| reads::layout(self.options.quick)))),
        ];
        let cpus: CpuSet = self.cpus.iter().copied().collect();
        let steal = stolen::steal_s(&cpus).zip(self.steal_before).map(|(now, before)| now - before);
        if steal.is_none() {
            not_available.insert("steal".into(), "/proc/stat does not tell it".into());
        }
        Method {
            description:
                "Median of short batches on lines of known home, in several passes of random order; batches \
                          in which a CPU was away are counted and kept out."
                    .into(),
            parameters: parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            passes: self.passes,
            duration_s: self.started.elapsed().as_secs_f64(),
            interrupted: self.interrupted,
            involuntary_switches: self.involuntary_switches,
            steal_s: steal.unwrap_or(0.0),
            not_available,
        }
    }
}

/// The name that a value has in the profile.
pub(super) fn name(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

fn chosen(options: &Options) -> Result<Vec<u32>, Error> {
    let mut cpus =
        if options.cpus.is_empty() { pin::allowed()?.iter().collect() } else { options.cpus.clone() };
    cpus.sort_unstable();
    cpus.dedup();
    if options.methods.is_empty() || options.homes.is_empty() {
        return Err(Error::other("there is no method or no home to measure"));
    }
    Ok(cpus)
}
