//! Turns what a run has recorded into the section's rows, and records how they were measured.

use std::collections::BTreeMap;

use coho_profile::{Calls, Method};
use serde_json::json;

use super::record::{Callers, Mode as Distances, WORKS};
use super::{MISSES, Run, affinity, ground, several};

impl Run<'_> {
    pub(super) fn finish(mut self, calls: &mut Calls) {
        let distances = || self.records.values().flat_map(|record| record.one_way.iter().copied());
        let mode = Distances::of_most(distances());
        if let Some(mode) = mode {
            let visits = distances().count();
            self.visits_at = Some((mode, distances().filter(|ns| mode.holds(*ns)).count(), visits));
            self.records.values_mut().for_each(|record| *record = record.at(mode));
        }
        calls.footprint = self
            .records
            .iter()
            .flat_map(|((deed, point), record)| {
                record.rows(&self.deeds.all[*deed], self.points[*point], Callers::ONE)
            })
            .collect();
        calls.channel = self
            .hosts
            .iter()
            .enumerate()
            .map(|(index, away)| {
                // For the nearest host, only the distance at which the calls were made.
                let at = mode.filter(|_| index == 0).map(|mode| away.times.at(mode));
                at.as_ref().unwrap_or(&away.times).channel(self.cpu, away.cpu, away.claimed.clone())
            })
            .collect();
        calls.affinity = self
            .affinity
            .iter()
            .flat_map(|(deed, times)| affinity::rows(&self.deeds.all[*deed], times))
            .collect();
        // Hosts poll, so they must end before several callers use their CPUs.
        self.hosts.clear();
        self.stand.remote = None;
        let frame = &mut self.frame;
        let others = frame.cpus.iter().copied().filter(|cpu| *cpu != self.cpu);
        let crowd = several::Crowd {
            cpus: std::iter::once(self.cpu).chain(others).collect(),
            caches: self.caches,
            place: &self.deeds.places[0],
            seed: self.options.course.seed,
        };
        let left = self.limit.saturating_sub(frame.elapsed());
        let together = crowd.measure(frame, left);
        calls.footprint.extend(together.rows);
        calls.assignments = together.assignments;
        calls.footprint_conditions = Some(self.conditions(together.passes));
    }

    fn conditions(mut self, passes_together: usize) -> Method {
        let loads: BTreeMap<_, _> =
            self.loads.iter().map(|(name, _, ns)| ((*name).to_owned(), json!(ns))).collect();
        let parameters = [
            ("caller", json!(self.cpu)),
            ("l1d_bytes", json!(self.caches.l1d)),
            ("l2_bytes", json!(self.caches.l2)),
            ("last_level_cache_bytes", json!(self.caches.last)),
            ("load_ns", json!(loads)),
            ("window_bytes", json!(ground::window(self.caches, usize::MAX))),
            ("works_ns", json!(WORKS)),
            ("one_way_ns", json!(self.visits_at.map(|(mode, ..)| [mode.low, mode.high]))),
            ("visits_at_one_way_ns", json!(self.visits_at.map(|(_, kept, _)| kept))),
            ("visits", json!(self.visits_at.map(|(.., all)| all))),
            ("passes_of_several_callers", json!(passes_together)),
            ("misses", json!(self.source.is_some().then(|| MISSES.name()))),
            ("folder", json!(self.curves.folder)),
        ];
        for (name, value) in parameters {
            self.frame.parameter(name, value);
        }
        self.frame.finish(DESCRIPTION)
    }
}

const DESCRIPTION: &str = "Each call, as the instruction where it has that form, between two walks of its \
    caller's working set: data in random order up to half of the level-2 cache; of a larger set, the last \
    `window_bytes` in random order and everything before that in order; then nops. Timed: the call, for \
    reads a look at what was read, and walking what was in random order and the nops again; less the same \
    without a call. Home: the caller makes it. Away: a thread that polls on another CPU makes it, on a file \
    of its own in the same folder, while the caller waits. Async: the caller posts it, works in registers, \
    then waits; what it writes is copied first. What is written was stored into by the caller after the \
    walk. Blocks of some calls each, the first of which does not count; blocks of all ways follow each \
    other in random order, visits of all calls and sets as well; a pass has one figure of each, and gains \
    are taken within it. Each visit measures before and after how far apart the two CPUs are; only visits \
    at the most common distance, `one_way_ns`, count.";
