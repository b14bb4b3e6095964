//! What lines cost if the program's threads stay near each other, on CPUs that share a cache or a NUMA node.

use coho_model::share_lines::{self, Code, costs};
use coho_probe::statistics;
use coho_profile::{SharePlacement, ShareTotal};
use coho_topology::{CpuSet, Level, Topology};

use super::ALL;
use super::lines::Found;
use super::measuring::{Measuring, recorded};
use super::once::Run;
use crate::child::Job;
use crate::per_thread;
use crate::plan::{Error, Listener};
use crate::trial::{self, rounds};

/// A line that costs less is not worth the rounds.
const LEAST_COST: f64 = 0.01;
/// Threads that run at once for less of the time need no CPU of their own.
const SELDOM: f64 = 0.25;
/// What the runs are called.
const NEAR: &str = "CPUs near each other";

/// Some of the program's CPUs, which are nearer to each other than all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Near {
    level: Level,
    /// In the order in which threads take them.
    cpus: Vec<u32>,
}

/// The nearest of the program's CPUs that are so many at least; `None` if the topology has nothing that holds so many
/// and not all. Threads of one core are no such CPUs, as they share more than lines.
fn near(topology: &Topology, order: &[u32], needed: usize) -> Option<Near> {
    let mine: CpuSet = order.iter().copied().collect();
    let of_level = |level: Level| {
        let objects = topology.partition(level).into_iter().map(|object| object.intersection(&mine));
        let largest = objects.reduce(|one, other| if other.len() > one.len() { other } else { one })?;
        let cpus = Vec::from_iter(order.iter().copied().filter(|cpu| largest.contains(*cpu)));
        (needed..order.len()).contains(&cpus.len()).then_some(Near { level, cpus })
    };
    Level::OUTWARD.into_iter().filter(|level| *level != Level::Core).find_map(of_level)
}

/// CPUs that so many threads, which run at once on average, need.
fn needed(at_once: f64) -> usize {
    ((at_once - SELDOM).ceil() as usize).max(2)
}

impl Measuring {
    /// Says of each line that has a cost on which CPUs it should cost less. The program runs there to tell how much; if
    /// it has too many threads for that, the CPUs are some for the line's threads, and nothing is measured.
    pub(super) fn place(
        &mut self,
        topology: &Topology,
        total: &ShareTotal,
        options: &trial::Options,
        found: &mut [Found],
        listener: &mut dyn Listener,
    ) -> Result<(), Error> {
        let is_dear =
            |found: &&mut Found| found.line.cost_share.as_ref().is_some_and(|cost| cost.low >= LEAST_COST);
        let mut dear: Vec<&mut Found> = found.iter_mut().filter(is_dear).collect();
        let Some(at_once) = total.at_once.as_ref().filter(|_| !dear.is_empty()) else { return Ok(()) };
        let needed = needed(at_once.median);
        let Some(place) = near(topology, &self.order, needed) else {
            for one in dear {
                let threads = (one.line.threads as usize).clamp(2, needed);
                one.line.placement = near(topology, &self.order, threads).map(|place| SharePlacement {
                    level: place.level.to_string(),
                    cpus: place.cpus,
                    ..SharePlacement::default()
                });
            }
            return Ok(());
        };
        let jobs = [self.on_all.clone(), confined(&self.on_all, &place.cpus)];
        let mut random = fastrand::Rng::with_seed(options.seed);
        let mut progress = listener.progress();
        let visit = |thing: usize| {
            let name = [ALL, NEAR][thing];
            let run = recorded(&mut self.recordings, &jobs[thing], name, None, false, &self.signals)?;
            Ok::<_, Error>(run.map(Result::ok))
        };
        let (done, _) = rounds(2, options, &mut random, &mut progress, visit)?;
        let [all, there]: [Vec<_>; 2] = done.try_into().unwrap_or_default();
        let (all, there): (Vec<_>, Vec<_>) =
            all.into_iter().zip(there).filter_map(|(all, there)| all.zip(there)).unzip();
        let (all, recorded_all) = parted(all);
        let (there, recorded_there) = parted(there);
        let times = there.iter().zip(&all).map(|(there, all)| there.elapsed.div_duration_f64(all.elapsed));
        let times = statistics::estimate(&[times.collect()]);
        let code: Vec<_> = dear.iter().map(|one| Code { touched: &one.code, near: &one.near }).collect();
        let saves = costs(&recorded_all, &recorded_there, &code);
        for (one, saves) in dear.iter_mut().zip(saves) {
            let saves = statistics::estimate(&[saves]).filter(coho_profile::Estimate::has_interval);
            one.line.placement = saves.map(|saves| SharePlacement {
                level: place.level.to_string(),
                cpus: place.cpus.clone(),
                saves: Some(saves),
                times: times.clone(),
            });
        }
        Ok(())
    }
}

fn parted(runs: Vec<(Run, share_lines::Run)>) -> (Vec<Run>, Vec<share_lines::Run>) {
    runs.into_iter().unzip()
}

/// The same program on some of its CPUs.
fn confined(job: &Job, cpus: &[u32]) -> Job {
    let mut job = Job { cpus: Some(cpus.iter().copied().collect()), ..job.clone() };
    let (name, list) = per_thread::environment(cpus);
    job.environment
        .iter_mut()
        .filter(|(known, _)| *known == name)
        .for_each(|(_, value)| value.clone_from(&list));
    if let Some(traced) = job.traced.as_mut().filter(|traced| !traced.turns.is_empty()) {
        traced.turns = cpus.to_vec();
    }
    job
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use coho_platform::pin;
    use coho_probe::Progress;
    use coho_profile::{Estimate, ShareLine};
    use coho_testing::{Capability, in_own_process, needs};
    use coho_topology::{Cache, CacheKind, Unit};

    use super::*;
    use crate::child::{Output, Signals, Traced};
    use crate::plan::Notice;
    use crate::share::recordings::Recordings;

    fn set(cpus: &str) -> CpuSet {
        cpus.parse().unwrap()
    }

    /// Two packages of two L3s each, of four cores with two threads each; threads of a core are `n` and `n + 16`.
    fn machine() -> Topology {
        let unit = |cpus: &str| Unit { id: None, cpus: set(cpus) };
        let cache = |cpus: &str| Cache {
            level: 3,
            kind: CacheKind::Unified,
            size_bytes: 0,
            line_bytes: None,
            ways: None,
            cpus: set(cpus),
        };
        Topology {
            packages: vec![unit("0-7,16-23"), unit("8-15,24-31")],
            cores: (0..16).map(|core| unit(&format!("{core},{}", core + 16))).collect(),
            caches: ["0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"].map(cache).into(),
            ..Topology::default()
        }
    }

    #[test]
    fn threads_are_put_where_as_many_cpus_are_nearest() {
        let near =
            |order: &[u32], needed| near(&machine(), order, needed).map(|near| (near.level, near.cpus));
        let spread = [0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14];
        assert_eq!(near(&spread, 2), Some((Level::L3, vec![0, 1, 2])));
        assert_eq!(near(&spread, 3), Some((Level::L3, vec![0, 1, 2])));
        assert_eq!(near(&spread, 4), Some((Level::Package, vec![0, 4, 1, 5, 2, 6])));
        assert_eq!(near(&spread, 7), None);
        // All of them are near already, or each is apart.
        assert_eq!(near(&[0, 1, 2, 3], 2), None);
        assert_eq!(near(&[0, 8], 2), None);
    }

    #[test]
    fn threads_that_run_at_once_have_a_cpu_each() {
        assert_eq!([1.0, 1.9, 2.1, 2.3, 3.9, 8.0].map(needed), [2, 2, 2, 3, 4, 8]);
    }

    #[test]
    fn a_confined_program_has_these_cpus_alone_in_their_order() {
        let environment = vec![("COHO_PIN".into(), "0,1,2,3".into()), ("LD_PRELOAD".into(), "a.so".into())];
        let preloaded = confined(&Job { environment, ..Job::default() }, &[2, 0]);
        assert_eq!(preloaded.environment[0].1, "2,0");
        assert_eq!((preloaded.environment[1].1.to_str(), preloaded.cpus), (Some("a.so"), Some(set("0,2"))));
        for (turns, expected) in [(vec![0, 1, 2, 3], vec![2, 0]), (vec![], vec![])] {
            let traced = Some(Traced { turns, are_sampled: false });
            let traced = confined(&Job { traced, ..Job::default() }, &[2, 0]);
            assert_eq!(traced.traced.unwrap().turns, expected);
        }
    }

    struct Deaf;

    impl Listener for Deaf {
        fn hear(&mut self, _: Notice<'_>) {}

        fn progress(&mut self) -> Box<dyn FnMut(Progress)> {
            Box::new(|_| ())
        }
    }

    /// The machine's two CPUs and two that it lacks, each pair in a package: the program runs there and on all.
    #[test]
    fn a_program_runs_on_the_nearer_cpus_and_its_lines_are_told_what_they_cost_less() {
        needs!(Capability::CCompiler, Capability::TwoCpus, Capability::Tracing);
        in_own_process(a_program_runs_on_the_nearer_cpus_and_its_lines_are_told_what_they_cost_less, || {
            let folder = tempfile::tempdir().unwrap();
            let program = folder.path().join("program");
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/programs/share.c");
            let mut compiler = Command::new("cc");
            let compiler = compiler.args(["-O1", "-static", "-pthread", "-o"]).arg(&program).arg(source);
            assert!(compiler.status().unwrap().success());
            let there: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
            let order = vec![there[0], 4000, there[1], 4001];
            let unit = |cpus: &[u32]| Unit { id: None, cpus: cpus.iter().copied().collect() };
            let packages = vec![unit(&there), unit(&[4000, 4001])];
            let topology = Topology { packages, ..Topology::default() };
            let command = [program.into_os_string()].into_iter();
            let command = command.chain(["counters", "8", "100000000"].map(Into::into)).collect();
            let traced = Some(Traced { turns: order.clone(), are_sampled: false });
            let cpus = Some(order.iter().copied().collect());
            let on_all = Job { command, traced, cpus, output: Output::Nowhere, ..Job::default() };
            let mut measuring = Measuring {
                on_one: on_all.clone(),
                on_all,
                order,
                objection: None,
                signals: Signals::hold().unwrap(),
                endless: None,
                no_lines: None,
                recordings: Recordings::default(),
            };
            let total = ShareTotal { at_once: Some(Estimate::exact(2.0)), ..ShareTotal::default() };
            let found = |cost: f64| Found {
                line: ShareLine {
                    cost_share: Some(Estimate::exact(cost)),
                    threads: 2,
                    ..ShareLine::default()
                },
                sites: Default::default(),
                code: Default::default(),
                near: Default::default(),
            };
            let mut lines = [found(0.3), found(0.001)];
            let options = trial::Options { repeats: 6, ..trial::Options::default() };
            measuring.place(&topology, &total, &options, &mut lines, &mut Deaf).unwrap();
            let placement = lines[0].line.placement.as_ref().unwrap();
            assert_eq!((&*placement.level, &placement.cpus), ("package", &there));
            // It has no instructions that could cost less.
            assert_eq!(placement.saves.as_ref().map(|saves| (saves.median, saves.n)), Some((0.0, 6)));
            assert!(placement.times.as_ref().is_some_and(|times| times.median > 0.0));
            assert_eq!(lines[1].line.placement, None, "not worth it");
            // With more threads at once than CPUs near each other, where its own would be near is told untried.
            let total = ShareTotal { at_once: Some(Estimate::exact(4.0)), ..ShareTotal::default() };
            let mut lines = [found(0.3)];
            measuring.place(&topology, &total, &options, &mut lines, &mut Deaf).unwrap();
            let placement = lines[0].line.placement.as_ref().unwrap();
            assert_eq!((&placement.cpus, &placement.saves, &placement.times), (&there, &None, &None));
        });
    }
}
