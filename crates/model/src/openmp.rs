//! What synchronising costs an OpenMP program whose regions and barriers were counted: on coho's teams and, where the
//! profile has it, on libgomp's.
//!
//! A program's time is that of its work, which is what thread 0 did while it was not waiting, plus its forks, joins
//! and barriers at the profile's prices. The prices assume members that arrive at once. Any longer waiting is for
//! members that have more to do, or that are not running.

use coho_profile::{Estimate, Ns, Sync};
use serde::{Deserialize, Serialize, Serializer};

use crate::barrier::quickest_measured;
pub use crate::range::Range;

/// What was counted in the processes of a command.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Version of this format: 1.
    pub openmp_counts: u32,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The processes that ran on coho's teams and exited by themselves.
    pub processes: Vec<Process>,
}

/// One process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Its process ID.
    pub pid: u32,
    /// Time from when coho's teams took over until it exited.
    pub seconds: f64,
    /// The barrier of its teams: a name of [`coho_sync::Algorithm`].
    pub barrier: String,
    /// Whether it can create tasks, which members run while they wait.
    pub has_tasks: bool,
    /// Whether none of it ran on libgomp's teams.
    pub is_complete: bool,
    /// What its teams did, by size.
    pub teams: Vec<Team>,
}

/// The teams of one size. The first member's counts stand for all members.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Team {
    /// Number of members.
    pub threads: u32,
    /// Parallel regions.
    pub regions: u64,
    /// How many of the regions are nested in others.
    pub nested: u64,
    /// Barriers, including those at the end of loops, sections and singles, but not the end of a region.
    pub barriers: u64,
    /// Loops and sections that the library divides among the members; the compiler mostly divides static loops by
    /// itself.
    pub loops: u64,
    /// Encounters of `single`.
    pub singles: u64,
    /// Time within outermost regions.
    pub inside_s: f64,
    /// Time in which the first member waited: in barriers, and before and after its part of a region.
    pub waiting_s: f64,
}

/// What synchronising costs a process's teams of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Price {
    /// Number of members.
    pub threads: u32,
    /// Number of regions.
    pub regions: u64,
    /// Cost of a fork and join.
    pub fork_join_ns: Range<Ns>,
    /// Number of barriers.
    pub barriers: u64,
    /// Cost of one barrier; zero where there is none.
    pub barrier_ns: Range<Ns>,
    /// The first member's measured waiting.
    pub waiting_s: f64,
}

/// A process's predicted time, from its counts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// Its process ID.
    pub pid: u32,
    /// Its measured time.
    pub measured_s: f64,
    /// That time without thread 0's waiting.
    pub work_s: f64,
    /// Work, and synchronising at the profile's prices.
    pub predicted_s: Range,
    /// How far the prediction is from the measured time, as a share of the latter.
    pub error: f64,
    /// The same with libgomp's prices, where the profile has them.
    pub libgomp_s: Option<Range>,
    /// Why there is no such figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_libgomp: Option<Unpredicted>,
    /// The prices of coho's teams.
    pub teams: Vec<Price>,
}

/// Why a process's time cannot be predicted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unpredicted {
    /// Its measured time is none.
    #[error("its time is not above 0")]
    NoTime,
    /// Not all of it was counted.
    #[error("a part of it ran on libgomp's teams, which were not counted")]
    Incomplete,
    /// Regions within regions.
    #[error("it opens regions within regions, whose times overlap")]
    Nested,
    /// Regions of several threads.
    #[error("several of its threads open regions at once, and their times overlap")]
    Concurrent,
    /// Tasks.
    #[error("it can create tasks, which members run while they wait, so waiting cannot be told from work")]
    Tasks,
    /// The profile lacks a time of coho's teams.
    #[error(
        "the profile has no {what} of {threads} threads; `coho barrier --threads {threads} -o PROFILE` \
         measures it"
    )]
    Lacks {
        /// Of which operation.
        what: &'static str,
        /// Threads of the team.
        threads: u32,
    },
    /// The profile lacks a time of libgomp's.
    #[error(
        "the profile has no {operation} of libgomp's with {threads} threads; `coho barrier \
         --peers --threads {threads} -o PROFILE` measures it"
    )]
    LacksLibgomp {
        /// Of which operation.
        operation: &'static str,
        /// Threads of the team.
        threads: u32,
    },
}

impl Serialize for Unpredicted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What is predicted for one process.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// Its time.
    Predicted(Prediction),
    /// None.
    NotAvailable {
        /// Its process ID.
        pid: u32,
        /// Why not.
        #[serde(rename = "not_available")]
        why: Unpredicted,
    },
}

impl Outcome {
    /// As [`predict`] has it.
    pub fn of(process: &Process, sync: &Sync) -> Self {
        match predict(process, sync) {
            Ok(prediction) => Self::Predicted(prediction),
            Err(why) => Self::NotAvailable { pid: process.pid, why },
        }
    }

    /// The prediction, if there is one.
    pub fn prediction(&self) -> Option<&Prediction> {
        match self {
            Self::Predicted(prediction) => Some(prediction),
            Self::NotAvailable { .. } => None,
        }
    }
}

/// What is predicted for the processes of a command, and what that means in words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// In the order of the counts.
    pub processes: Vec<Outcome>,
    /// A sentence for each process whose time with libgomp is known.
    pub findings: Vec<String>,
}

/// A nanosecond in seconds.
const NS: f64 = 1e-9;

/// Predicts a process's time by the barriers, forks and joins of a profile.
///
/// # Errors
/// If the counts do not allow it: nested or concurrent regions, whose times overlap; tasks, which run while members
/// wait; a part of the process on libgomp's teams. Also if the profile lacks a figure.
pub fn predict(process: &Process, sync: &Sync) -> Result<Prediction, Unpredicted> {
    countable(process)?;
    let mut teams = Vec::new();
    for team in process.teams.iter().filter(|team| team.threads > 1) {
        let threads = team.threads;
        let barrier_ns = match team.barriers {
            0 => Range::default(),
            _ => barrier(sync, &process.barrier, threads)
                .ok_or(Unpredicted::Lacks { what: "barrier", threads })?,
        };
        teams.push(Price {
            threads,
            regions: team.regions,
            fork_join_ns: fork_join(sync, threads)
                .ok_or(Unpredicted::Lacks { what: "fork and join by the team", threads })?,
            barriers: team.barriers,
            barrier_ns,
            waiting_s: team.waiting_s,
        });
    }
    let work_s = process.seconds - process.teams.iter().map(|team| team.waiting_s).sum::<f64>();
    let total = |prices: Vec<Range>| {
        prices.into_iter().fold(Range { value: work_s, low: work_s, high: work_s }, Range::plus)
    };
    let own = teams.iter().map(|team| paid(team, team.fork_join_ns, team.barrier_ns)).collect();
    let predicted_s = total(own);
    let libgomp: Result<Vec<Range>, Unpredicted> = teams.iter().map(|team| libgomp(sync, team)).collect();
    let (libgomp_s, no_libgomp) = match libgomp {
        Ok(prices) => (Some(total(prices)), None),
        Err(why) => (None, Some(why)),
    };
    Ok(Prediction {
        pid: process.pid,
        measured_s: process.seconds,
        work_s,
        predicted_s,
        error: predicted_s.value / process.seconds - 1.0,
        libgomp_s,
        no_libgomp,
        teams,
    })
}

fn countable(process: &Process) -> Result<(), Unpredicted> {
    let inside: f64 = process.teams.iter().map(|team| team.inside_s).sum();
    if process.seconds.is_nan() || process.seconds <= 0.0 {
        Err(Unpredicted::NoTime)
    } else if !process.is_complete {
        Err(Unpredicted::Incomplete)
    } else if process.teams.iter().any(|team| team.nested > 0) {
        Err(Unpredicted::Nested)
    } else if inside > process.seconds * 1.001 {
        Err(Unpredicted::Concurrent)
    } else if process.has_tasks {
        Err(Unpredicted::Tasks)
    } else {
        Ok(())
    }
}

/// The total time of a team's forks, joins and barriers, in seconds.
fn paid(team: &Price, fork_join: Range<Ns>, barrier: Range<Ns>) -> Range {
    let in_all = |each: Range<Ns>, count: u64| each.ns().times(count as f64 * NS);
    in_all(fork_join, team.regions).plus(in_all(barrier, team.barriers))
}

/// The named barrier's time, nearest first. `auto` means what it chose when it was measured, or else the quickest.
fn barrier(sync: &Sync, name: &str, threads: u32) -> Option<Range<Ns>> {
    let auto = || sync.method.parameters.get("auto")?.get(format!("{threads} threads, sequential"))?.as_str();
    let name = match name {
        "auto" => auto().map(str::to_owned).or_else(|| quickest_measured(sync, threads)),
        name => Some(name.to_owned()),
    };
    let rows = || sync.barriers.iter().filter(|row| row.threads == threads && row.ns.is_some());
    let named = rows().filter(|row| name.as_ref().is_some_and(|name| *name == row.name()));
    let row = match name {
        Some(_) => named.min_by_key(|row| row.mapping != "sequential"),
        // None is slower than another beyond chance.
        None => rows().min_by(|one, other| median(one.ns.as_ref()).total_cmp(&median(other.ns.as_ref()))),
    };
    row?.ns.as_ref().map(Range::time)
}

fn median(ns: Option<&Estimate>) -> Ns {
    ns.map_or(Ns::INFINITY, |ns| Ns(ns.median))
}

fn fork_join(sync: &Sync, threads: u32) -> Option<Range<Ns>> {
    let team = |row: &&coho_profile::ForkJoinTime| row.threads == threads && row.algorithm == "team";
    let rows = sync.fork_join.iter().filter(team);
    rows.min_by_key(|row| row.mapping != "sequential")?.total_ns.as_ref().map(Range::time)
}

fn libgomp(sync: &Sync, team: &Price) -> Result<Range, Unpredicted> {
    let price = |operation: &'static str| {
        let mine = |row: &&coho_profile::SyncPeer| {
            row.name == "libgomp" && row.operation == operation && row.threads == team.threads
        };
        let ns = sync.peers.iter().find(mine).and_then(|row| row.ns.as_ref()).map(Range::time);
        ns.ok_or(Unpredicted::LacksLibgomp { operation, threads: team.threads })
    };
    let barrier = if team.barriers > 0 { price("barrier")? } else { Range::default() };
    Ok(paid(team, price("fork-join")?, barrier))
}

#[cfg(test)]
mod tests {
    use coho_profile::{BarrierTime, ForkJoinTime, SyncPeer};

    use super::*;

    fn ns(median: f64) -> Option<Estimate> {
        Some(Estimate { low: median * 0.9, high: median * 1.2, ..Estimate::exact(median) })
    }

    /// Barriers of 40 ns, fork and join of 80; libgomp's take ten times as long.
    fn sync() -> Sync {
        let barrier = |layout: &str, mapping: &str, time| BarrierTime {
            algorithm: "fbs".into(),
            layout: layout.into(),
            threads: 2,
            mapping: mapping.into(),
            ns: ns(time),
            ..BarrierTime::default()
        };
        let peer = |operation: &str, time| SyncPeer {
            name: "libgomp".into(),
            operation: operation.into(),
            threads: 2,
            ns: ns(time),
            ..SyncPeer::default()
        };
        let team = ForkJoinTime {
            algorithm: "team".into(),
            threads: 2,
            mapping: "sequential".into(),
            total_ns: ns(80.0),
            ..ForkJoinTime::default()
        };
        let mut sync = Sync {
            barriers: vec![
                barrier("separate-lines", "sequential", 60.0),
                barrier("one-line", "binary-tree", 50.0),
                barrier("one-line", "sequential", 40.0),
            ],
            fork_join: vec![team],
            peers: vec![peer("barrier", 400.0), peer("fork-join", 800.0)],
            ..Sync::default()
        };
        sync.method
            .parameters
            .insert("auto".into(), serde_json::json!({ "2 threads, sequential": "fbs-one-line" }));
        sync
    }

    fn process() -> Process {
        let team = Team {
            threads: 2,
            regions: 1000,
            barriers: 1_000_000,
            inside_s: 0.9,
            waiting_s: 0.05,
            ..Team::default()
        };
        Process {
            pid: 7,
            seconds: 1.0,
            barrier: "auto".into(),
            is_complete: true,
            teams: vec![Team { threads: 1, regions: 5, ..Team::default() }, team],
            ..Process::default()
        }
    }

    fn near(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-9, "{one} {other}");
    }

    #[test]
    fn work_and_so_many_barriers_make_the_time() {
        let prediction = predict(&process(), &sync()).unwrap();
        near(prediction.work_s, 0.95);
        near(prediction.predicted_s.value, 0.95 + 0.04 + 0.000_08);
        near(prediction.predicted_s.low, 0.95 + 0.9 * 0.040_08);
        near(prediction.error, -0.009_92);
        near(prediction.libgomp_s.unwrap().value, 0.95 + 0.4008);
        assert_eq!((prediction.teams.len(), prediction.teams[0].barrier_ns.value), (1, Ns(40.0)));
        let named = Process { barrier: "fbs".into(), ..process() };
        near(predict(&named, &sync()).unwrap().predicted_s.value, 0.95 + 0.060_08);
    }

    #[test]
    fn what_the_profile_lacks_is_named() {
        let mut without = sync();
        without.peers.pop();
        let prediction = predict(&process(), &without).unwrap();
        assert!(prediction.libgomp_s.is_none());
        let why = prediction.no_libgomp.unwrap().to_string();
        assert!(why.contains("no fork-join of libgomp's with 2 threads"), "{why}");
        let mut other = process();
        other.teams[1].threads = 3;
        assert!(predict(&other, &sync()).unwrap_err().to_string().contains("--threads 3"));
        let why = predict(&process(), &Sync::default()).unwrap_err();
        assert_eq!(why, Unpredicted::Lacks { what: "barrier", threads: 2 });
    }

    #[test]
    fn counts_that_do_not_tell_are_refused() {
        let refused = |change: fn(&mut Process), word: &str| {
            let mut process = process();
            change(&mut process);
            let why = predict(&process, &sync()).unwrap_err().to_string();
            assert!(why.contains(word), "{why}");
        };
        refused(|process| process.is_complete = false, "libgomp's teams");
        refused(|process| process.teams[1].nested = 1, "within regions");
        refused(|process| process.teams[1].inside_s = 1.1, "at once");
        refused(|process| process.has_tasks = true, "tasks");
        refused(|process| process.seconds = 0.0, "above 0");
    }
}
