//! What a machine costs barriers: one-way times between its CPUs and what comes on top of them.

use std::fmt;

use coho_profile::{Coherence, Home, Ns, PairMethod, Profile};
use coho_sync::{Mapping, Objects};
use coho_topology::{CpuSet, Topology};
use serde::Serialize;

use super::choose::longest_message;
use super::farthest_pair::FarthestPair;
use super::latency::{Latency, Levels, Tier};
use crate::{Error, MAX_CPUS, Matrix, classify};

/// Where a figure of the model comes from, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// From figures measured on the machine.
    Measured(String),
    /// From a fit to other figures of the machine.
    Fitted(String),
    /// Taken without a measurement.
    Assumed(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured(how) => write!(f, "measured: {how}"),
            Self::Fitted(how) => write!(f, "fitted: {how}"),
            Self::Assumed(why) => write!(f, "assumed: {why}"),
        }
    }
}

/// What one more remote line costs a CPU that reads several, and one more reader a line that is read by several: the
/// gap between transfers that follow each other. Never more than the transfer itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtraLine {
    /// Its fixed part.
    pub fixed: Ns,
    /// Its part that grows with the one-way time, as a share of it: 1 where no two transfers overlap.
    pub of_latency: f64,
    /// Between which both parts may lie: what predictions are tried with to see how much they owe to it.
    pub range: [Gap; 2],
    /// Where it comes from.
    pub source: Source,
}

/// A gap between transfers: a fixed part, and a share of the one-way time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gap {
    /// Its fixed part.
    #[serde(rename = "ns")]
    pub fixed: Ns,
    /// As a share of the one-way time.
    pub of_latency: f64,
}

impl Gap {
    /// All transfers overlap.
    pub const NONE: Self = Self { fixed: Ns::ZERO, of_latency: 0.0 };
    /// No two transfers overlap.
    pub const WHOLE: Self = Self { fixed: Ns::ZERO, of_latency: 1.0 };
}

impl ExtraLine {
    /// A fixed part, known to lie between two times.
    pub fn between(fixed: Ns, low: Ns, high: Ns, source: Source) -> Self {
        let gap = |fixed: Ns| Gap { fixed: fixed.max(Ns::ZERO), of_latency: 0.0 };
        Self { fixed, of_latency: 0.0, range: [gap(low.min(fixed)), gap(high.max(fixed))], source }
    }
}

/// What an atomic operation costs a CPU that owns the line already.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    /// Its time.
    pub time: Ns,
    /// Where it comes from.
    pub source: Source,
}

/// A machine as barriers see it. CPUs are indices into [`Machine::cpus`].
///
/// ```
/// use coho_model::barrier::{Machine, Tier};
/// use coho_profile::Ns;
/// // Two modules of four chips of two cores.
/// let tiers = [(2, 40.0), (8, 90.0), (16, 150.0)].map(|(cpus, ns)| Tier { cpus, one_way: Ns(ns) });
/// let machine = Machine::hierarchical(&tiers)?;
/// assert_eq!((machine.len(), machine.message(0, 1), machine.message(7, 8)), (16, Ns(40.0), Ns(150.0)));
/// # Ok::<(), coho_model::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    cpus: Vec<u32>,
    message: Latency,
    /// Where it differs from `message`.
    transfer: Option<Latency>,
    levels: Levels,
    places: Places,
    /// Where the one-way times come from.
    pub latency_source: Source,
    /// Cost of one more line or reader.
    pub extra_line: ExtraLine,
    /// Cost of an atomic operation without a transfer.
    pub local: Local,
    /// What was filled in or supposed, in words.
    pub notes: Vec<String>,
}

impl Machine {
    /// A machine from a matrix of times: halves of round trips of compare-and-swap on one line, as
    /// core-to-core-latency and most published matrices tell. One such half is taken for both a message and a transfer.
    ///
    /// # Errors
    /// If the matrix has no time of a pair.
    pub fn from_matrix(matrix: &Matrix) -> Result<Self, Error> {
        let found = classify(matrix);
        let levels = by_index(matrix.cpus(), found.levels.into_iter().map(|level| level.groups));
        let (message, missing) = Latency::from_matrix(matrix, matrix.cpus(), &levels).ok_or_else(no_times)?;
        let source = Source::Measured("matrix of half round trips on one line".into());
        Ok(Self::new(matrix.cpus().to_vec(), message, levels, source, missing))
    }

    /// A machine from a profile.
    ///
    /// - A *message* (a store that another CPU waits for) takes the step of `flags`: taking the reader's copy away
    ///   and its fetching the word anew is just what an arrival flag does.
    /// - A *transfer* (an atomic operation on a line that another CPU owns) takes the step of `turn`.
    /// - Where one of them was not measured, the other stands for both; times of unknown method, then free-running
    ///   ones, where neither was: the latter bound a transfer from below only.
    /// - The extra line comes from the section's FBS times of three and more threads or, on two CPUs, from its reads
    ///   of several remote lines, the local cost from the locked
    ///   increments of single CPUs.
    ///
    /// # Errors
    /// If the profile has no times of pairs above 0, or names more than [`MAX_CPUS`] CPUs.
    pub fn from_profile(profile: &Profile) -> Result<Self, Error> {
        let coherence = profile.coherence.as_ref().ok_or_else(no_times)?;
        let is_told = |matrix: &Matrix| matrix.pairs().any(|(.., ns)| ns > 0.0);
        let measured = |method| {
            let homes = [Home::A, Home::B, Home::Unknown, Home::Third];
            let mut of_homes =
                homes.map(|home| Matrix::from_pairs(&coherence.pairs, method, home)).into_iter().flatten();
            of_homes.find(is_told)
        };
        let (flags, turn) = (measured(PairMethod::Flags), measured(PairMethod::Turn));
        let imported = coherence.matrix.is_some().then(|| Matrix::of(coherence)).flatten().filter(is_told);
        let known = [PairMethod::Flags, PairMethod::Turn, PairMethod::Unknown, PairMethod::FreeRunning];
        let (method, matrix) = known
            .into_iter()
            .find_map(|method| Some((method, measured(method)?)))
            .or(imported.map(|matrix| (coherence.matrix_method, matrix)))
            .ok_or_else(no_times)?;
        let cpus = if coherence.cpus.is_empty() { matrix.cpus().to_vec() } else { coherence.cpus.clone() };
        if cpus.len() > MAX_CPUS {
            return Err(Error::new(format!("{} CPUs; a machine may have {MAX_CPUS}", cpus.len())));
        }
        let levels = levels_of(profile, coherence, &cpus);
        let (message, missing) = Latency::from_matrix(&matrix, &cpus, &levels).ok_or_else(no_times)?;
        let mut machine =
            Self::new(cpus, message, levels, Source::Measured(method_in_words(method).into()), missing);
        if let (Some(_), Some(turn)) = (flags, turn) {
            machine.transfer =
                Latency::from_matrix(&turn, &machine.cpus, &machine.levels).map(|found| found.0);
            if machine.transfer.is_some() {
                let [messages, transfers] = [PairMethod::Flags, PairMethod::Turn].map(method_in_words);
                machine.latency_source =
                    Source::Measured(format!("messages by {messages}; transfers of one line by {transfers}"));
            }
        }
        if let Some(section) = &profile.topology {
            machine.places.take(&section.topology, &machine.cpus);
        }
        if !coherence.singles.is_empty() {
            let mut locked: Vec<f64> =
                coherence.singles.iter().map(|single| single.locked_ns.median).collect();
            let source = Source::Measured("locked increments of single CPUs".into());
            machine.local = Local { time: Ns(crate::stats::median(&mut locked)).max(Ns::ZERO), source };
        }
        if let Some(extra_line) = machine.extra_line_from(profile, None) {
            machine.extra_line = extra_line;
        }
        Ok(machine)
    }

    /// A machine of equal units, innermost tier first; the last one holds all CPUs.
    ///
    /// # Errors
    /// If there is no tier, a tier does not hold several units of the one before, a time is not positive, or there are
    /// more than [`MAX_CPUS`] CPUs.
    pub fn hierarchical(tiers: &[Tier]) -> Result<Self, Error> {
        let mut inner = 1;
        for tier in tiers {
            if tier.cpus <= inner || tier.cpus % inner != 0 {
                return Err(Error::new(format!("a tier of {} CPUs cannot hold units of {inner}", tier.cpus)));
            }
            if !tier.one_way.is_finite() || tier.one_way <= Ns::ZERO {
                return Err(Error::new(format!(
                    "a one-way time of {} ns; it must be positive",
                    tier.one_way.0
                )));
            }
            inner = tier.cpus;
        }
        let n = tiers.last().map_or(0, |tier| tier.cpus);
        if n == 0 || n > MAX_CPUS {
            return Err(Error::new(format!("{n} CPUs; a machine may have 2 to {MAX_CPUS}")));
        }
        let groups =
            |tier: &Tier| (0..n).step_by(tier.cpus).map(|at| (at..at + tier.cpus).collect()).collect();
        let levels = tiers[..tiers.len() - 1].iter().map(groups).collect();
        let source = Source::Assumed("levels as given".into());
        Ok(Self::new((0..n as u32).collect(), Latency::from_tiers(tiers), levels, source, 0))
    }

    fn new(cpus: Vec<u32>, message: Latency, levels: Levels, source: Source, missing: usize) -> Self {
        let untimed = match missing {
            0 => None,
            1 => Some("1 pair has no time: it was".to_owned()),
            n => Some(format!("{n} pairs have no time: they were")),
        };
        let notes = untimed.map(|pairs| {
            format!(
                "{pairs} given the median of pairs that share the same level; groups of the coarsest level \
                 are taken as the corners of a cube"
            )
        });
        let notes = Vec::from_iter(notes);
        let n = cpus.len();
        let overlap = "3 ns, about what out-of-order CPUs need with several misses under way";
        Self {
            cpus,
            message,
            transfer: None,
            places: Places::by_levels(n, &levels),
            levels,
            latency_source: source,
            extra_line: ExtraLine {
                fixed: Ns(3.0),
                of_latency: 0.0,
                range: [Gap::NONE, Gap::WHOLE],
                source: Source::Assumed(overlap.into()),
            },
            local: Local { time: Ns::ZERO, source: Source::Assumed("nothing beside transfers".into()) },
            notes,
        }
    }

    /// The machine as it is when the FBS time of one team has no part in the extra line; `None` if it has none anyway, or
    /// nothing else tells of the extra line.
    pub(super) fn without_team(&self, profile: &Profile, threads: u32, mapping: Mapping) -> Option<Self> {
        let extra_line = self.extra_line_from(profile, Some((threads, mapping)))?;
        Some(Self { extra_line, ..self.clone() })
    }

    /// Machines that agree as well with what is known of this one: its extra line at either end of its range. None where it
    /// is known.
    pub fn variants(&self) -> Vec<Self> {
        let [low, high] = self.extra_line.range;
        let at = |gap: Gap| {
            let extra_line =
                ExtraLine { fixed: gap.fixed, of_latency: gap.of_latency, ..self.extra_line.clone() };
            Self { extra_line, ..self.clone() }
        };
        if low == high { Vec::new() } else { vec![at(low), at(high)] }
    }

    /// The least squares of T(n) = L + (n - 2) g over the FBS times on separate lines but for one team's, L being the
    /// longest message of the n CPUs; without such times, or where they ran at another distance than L, the reads of several
    /// remote lines.
    fn extra_line_from(&self, profile: &Profile, but_for: Option<(u32, Mapping)>) -> Option<ExtraLine> {
        // By the times, and by the ends of their intervals.
        let (mut numerators, mut denominator, mut times) = ([Ns::ZERO; 3], 0.0, 0);
        let sync = profile.sync.as_ref()?;
        let barriers = if FarthestPair::of(profile).is_some() { &[][..] } else { &sync.barriers };
        for time in barriers {
            let threads = time.threads as usize;
            let fbs = time.algorithm == "fbs" && time.layout == "separate-lines";
            let (true, Some(ns), Ok(mapping)) = (fbs, &time.ns, time.mapping.parse::<Mapping>()) else {
                continue;
            };
            if !(3..=self.len()).contains(&threads) || but_for == Some((time.threads, mapping)) {
                continue;
            }
            let team = &self.order(mapping)[..threads];
            let (extra, longest) = ((threads - 2) as f64, longest_message(self, team));
            for (numerator, ns) in numerators.iter_mut().zip([ns.median, ns.low, ns.high]) {
                *numerator += extra * (Ns(ns) - longest);
            }
            denominator += extra * extra;
            times += 1;
        }
        if times > 0 {
            let [fixed, low, high] = numerators.map(|numerator| (numerator / denominator).max(Ns::ZERO));
            let source = Source::Fitted(format!("{times} FBS times of three and more threads"));
            return Some(ExtraLine::between(fixed, low, high, source));
        }
        let read =
            sync.extra_line_ns.as_ref().filter(|read| read.median.is_finite() && read.median >= 0.0)?;
        let source = Source::Measured("reads of 1 and of 32 lines that another CPU had just written".into());
        Some(ExtraLine::between(Ns(read.median), Ns(read.low), Ns(read.high), source))
    }

    /// The operating system's numbers of the CPUs.
    pub fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    /// The number of CPUs.
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Whether there are no CPUs.
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// The CPUs by index in the order in which ranks take them: the library's own
    /// ([`Mapping::order`]), by the profile's topology. Where there is none the levels found in the times stand in for it,
    /// of which none is known to be a core's hardware threads.
    ///
    /// ```
    /// use coho_model::barrier::{Machine, Mapping, Tier};
    /// use coho_profile::Ns;
    /// let tiers = [Tier { cpus: 2, one_way: Ns(10.0) }, Tier { cpus: 4, one_way: Ns(90.0) }];
    /// let machine = Machine::hierarchical(&tiers)?;
    /// assert_eq!(machine.order(Mapping::Sequential), [0, 1, 2, 3]);
    /// assert_eq!(machine.order(Mapping::BinaryTree), [0, 2, 1, 3]);
    /// # Ok::<(), coho_model::Error>(())
    /// ```
    pub fn order(&self, mapping: Mapping) -> &[usize] {
        match mapping {
            Mapping::Sequential => &self.places.sequential,
            Mapping::BinaryTree => &self.places.binary_tree,
        }
    }

    /// The CPUs by index so that those that are near lie side by side.
    pub(super) fn by_nearness(&self) -> &[usize] {
        &self.places.near
    }

    /// Groups of near CPUs, one partition a level, finest first.
    pub fn levels(&self) -> &[Vec<Vec<usize>>] {
        &self.levels
    }

    /// How long it takes until a CPU that waits for another's store has read it.
    ///
    /// # Panics
    /// As the methods below, if an index is not below [`Machine::len`].
    pub fn message(&self, from: usize, to: usize) -> Ns {
        self.message.between(from, to)
    }

    /// From one CPU's atomic operation on a line until another's has taken the line over.
    pub fn transfer(&self, from: usize, to: usize) -> Ns {
        self.transfer.as_ref().unwrap_or(&self.message).between(from, to)
    }

    /// The shortest way known for a word to pass directly from one CPU to another: what limits are made of.
    pub fn one_way(&self, from: usize, to: usize) -> Ns {
        let message = self.message(from, to);
        self.transfer.as_ref().map_or(message, |transfer| message.min(transfer.between(from, to)))
    }

    /// What one more line, or one more reader of a line, costs where its message takes so long.
    pub fn gap(&self, message: Ns) -> Ns {
        message.min(self.extra_line.fixed + self.extra_line.of_latency * message).max(Ns::ZERO)
    }
}

/// Orders of the CPUs, by index.
#[derive(Debug, Clone, PartialEq)]
struct Places {
    sequential: Vec<usize>,
    binary_tree: Vec<usize>,
    near: Vec<usize>,
}

impl Places {
    /// Without a topology, by levels, finest first.
    fn by_levels(cpus: usize, levels: &Levels) -> Self {
        let objects = |groups: &Vec<Vec<usize>>| {
            let mut objects = vec![None; cpus];
            for (at, group) in groups.iter().enumerate() {
                group.iter().for_each(|&cpu| objects[cpu] = Some(at));
            }
            objects
        };
        let inward: Vec<Objects> = levels.iter().rev().map(objects).collect();
        let cores = vec![None; cpus];
        let sequential = Mapping::Sequential.arrange(&cores, &inward);
        let binary_tree = Mapping::BinaryTree.arrange(&cores, &inward);
        Self { near: sequential.clone(), sequential, binary_tree }
    }

    /// As the library places ranks by a topology.
    fn take(&mut self, topology: &Topology, cpus: &[u32]) {
        let allowed: CpuSet = cpus.iter().copied().collect();
        let index: std::collections::BTreeMap<u32, usize> =
            cpus.iter().enumerate().map(|(at, &cpu)| (cpu, at)).collect();
        let order = |mapping: Mapping| -> Vec<usize> {
            mapping.order(topology, &allowed).iter().map(|cpu| index[cpu]).collect()
        };
        (self.sequential, self.binary_tree) = (order(Mapping::Sequential), order(Mapping::BinaryTree));
    }
}

fn no_times() -> Error {
    Error::new("there are no times between CPUs; `coho coherence` measures them")
}

fn method_in_words(method: PairMethod) -> &'static str {
    match method {
        PairMethod::Flags => "half round trips of stores on two lines, one for each direction",
        PairMethod::Turn => "half round trips of compare-and-swap on one line",
        PairMethod::FreeRunning => {
            "free-running increments, taken as one transfer each: a lower bound, as one ownership may serve several"
        }
        PairMethod::Unknown => "times whose method is not known, taken as half round trips",
    }
}

/// The levels that show in the times or, where a paper has but some of them, those that the topology claims.
fn levels_of(profile: &Profile, coherence: &Coherence, cpus: &[u32]) -> Levels {
    if let Some(matrix) = Matrix::of(coherence).filter(|_| !coherence.published) {
        return by_index(cpus, classify(&matrix).levels.into_iter().map(|level| level.groups));
    }
    let Some(topology) = profile.topology.as_ref().map(|section| &section.topology) else {
        return Vec::new();
    };
    let units = [&topology.cores, &topology.modules, &topology.dies, &topology.packages];
    by_index(
        cpus,
        units.into_iter().map(|units| units.iter().map(|unit| unit.cpus.iter().collect()).collect()),
    )
}

/// Partitions by CPU number as partitions by index; trivial ones, and CPUs of other machines, fall out.
fn by_index(cpus: &[u32], partitions: impl Iterator<Item = Vec<Vec<u32>>>) -> Levels {
    let index: std::collections::BTreeMap<u32, usize> =
        cpus.iter().enumerate().map(|(at, &cpu)| (cpu, at)).collect();
    let groups = |groups: Vec<Vec<u32>>| -> Vec<Vec<usize>> {
        let members = |group: Vec<u32>| group.iter().filter_map(|cpu| index.get(cpu).copied()).collect();
        groups.into_iter().map(members).filter(|group: &Vec<usize>| !group.is_empty()).collect()
    };
    partitions
        .map(groups)
        .filter(|groups| {
            let members: usize = groups.iter().map(Vec::len).sum();
            groups.len() > 1 && groups.len() < cpus.len() && members == cpus.len()
        })
        .collect()
}
