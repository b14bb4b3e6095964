//! What reading a counter costs with each tool (Shimosawa, Hori & Ishikawa, Table 4), which events count correctly, and
//! the clock.

mod clock;
mod counts;
mod events;
mod fork;
mod survey;
mod tools;

use std::sync::mpsc::channel;

use coho_platform::pin;
use coho_profile::{Counters, Method};

use crate::experiment::{Surveyed, Times};
use crate::{Around, Course, Error, Experiment};

/// What to measure and how well.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Fewer passes.
    pub quick: bool,
    /// Where, and for how long.
    pub course: Course,
}

/// Measures what counting costs on one CPU. Takes some 2 s, `quick` less than 1 s; if there are counters, some seconds
/// more. A tool that is missing is named with the reason.
impl Experiment for Options {
    type Section = Counters;

    fn has_figures(section: &Counters) -> bool {
        !section.tools.is_empty() || !section.events.is_empty() || section.empty_ns.is_some()
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Counters, Error> {
        let allowed = &pin::allowed()?;
        let cpu = self.course.first()?;
        // Counters belong to the thread that opened them, and only this thread may report progress.
        let (tell, told) = channel();
        std::thread::scope(|scope| {
            let survey = std::thread::Builder::new().spawn_scoped(scope, move || {
                pin::to(cpu)?;
                let counters = survey::run(cpu, allowed, self, &mut |progress| {
                    // The receiver exists for as long as this thread sends.
                    let _ = tell.send(progress);
                });
                pin::verify(cpu)?;
                Ok(counters)
            });
            let survey = survey.map_err(|error| Error::system("a thread to count on", error))?;
            told.iter().for_each(&mut *around.progress);
            survey.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl Surveyed for Options {
    const TIMES: Times = Times::seconds(3, 20);

    fn in_survey(_: bool, course: Course) -> Self {
        Self { quick: true, course }
    }

    fn method(section: &mut Counters) -> &mut Method {
        &mut section.method
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::Progress;

    fn quick(course: Course, progress: &mut dyn FnMut(Progress)) -> Result<Counters, Error> {
        Options { quick: true, course }.measure(&mut Around::new(&coho_topology::detect()?, progress))
    }

    #[test]
    fn every_row_has_figures_or_a_reason() {
        let mut phases = Vec::new();
        let counters = quick(Course::default(), &mut |progress| phases.push(progress.phase)).unwrap();
        let names: Vec<_> = counters.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "user-level read",
                "user-level start and stop",
                "user-level read of 4 events",
                "perf_event read",
                "perf_event start and stop",
                "PAPI_read",
                "PAPI start and stop",
                "LIKWID start and stop",
            ]
        );
        for tool in &counters.tools {
            assert!(tool.ns.is_some() || tool.not_available.is_some(), "{tool:?}");
            if let Some(ns) = &tool.ns {
                assert!(ns.median > 0.0 && ns.n > 0, "{tool:?}");
            }
        }
        let row = |name| counters.tools.iter().find(|tool| tool.name == name).unwrap();
        match row("user-level read").kernel_entries {
            Some(entries) => assert_eq!(entries, 0.0, "reading in user mode entered the kernel"),
            None => {
                assert!(row("user-level read").not_available.is_some() || crate::step::available().is_err())
            }
        }
        for (name, entries) in [("perf_event read", 1.0), ("perf_event start and stop", 2.0)] {
            if let Some(found) = row(name).kernel_entries {
                assert_eq!(found, entries, "{name}");
            }
        }
        let clock = counters.clock.as_ref().unwrap();
        let cpus = pin::allowed().unwrap().iter().take(clock::MOST_CPUS).count();
        let known = clock.offsets.len() == cpus && clock.offsets[0].ns == 0.0;
        assert!(known || counters.method.not_available.contains_key(clock::OFFSETS), "{clock:?}");
        assert!(counters.empty_ns.is_some());
        assert!(counters.rdpmc.available || counters.rdpmc.note.is_some());
        assert_eq!(counters.rdpmc.available, counters.rdpmc.trapped.is_some());
        assert!(!counters.method.interrupted && counters.method.passes == 8);
        assert!(phases.contains(&"single steps") && phases.contains(&"passes"), "{phases:?}");
    }

    #[test]
    fn a_time_limit_keeps_the_rows() {
        let start = Instant::now();
        let counters = quick(Course::default().within(Duration::ZERO), &mut |_| ()).unwrap();
        assert!(counters.method.interrupted);
        assert_eq!(counters.tools.len(), 8);
        assert!(counters.tools.iter().all(|tool| tool.not_available.is_some()), "{:?}", counters.tools);
        assert!(start.elapsed() < Duration::from_secs(120));
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused() {
        let error = quick(Course::on([60_000]), &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("CPU 60000"), "{error}");
    }
}
