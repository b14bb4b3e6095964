//! The conditions under which a run's figures were measured.

use coho_counters::Column;
use coho_profile::Method;
use serde_json::json;

use super::floor::{self, Comparison};
use super::record::Scale;
use super::survey::Survey;
use super::{caches, cold};
use crate::clock::Clock;

impl Survey<'_> {
    /// Parameters, and what was not available.
    pub(super) fn conditions(mut self, scale: &Scale) -> Method {
        let mut not_available = std::mem::take(&mut self.frame.method.not_available);
        if scale.footprint_ns.is_none() {
            let why = "not available: the set never stayed in the level-1 data cache, perhaps because \
                       something else uses it, or its misses cannot be seen by time";
            not_available.insert("footprint_lines".into(), why.into());
        }
        for (bytes, _) in self.lab.damage.iter().filter(|(_, stage)| stage.fills()) {
            let ways = self.caches.l1d_ways;
            let why = format!(
                "not available: the set takes all {ways} ways of its cache: for each line that a call \
                 brings there, walking the set again may miss {ways} times"
            );
            not_available.insert(format!("lines of damage to {bytes} bytes"), why);
        }
        for (set, (bytes, _)) in self.lab.damage.iter().enumerate() {
            let visited =
                || self.records.iter().map(|record| &record.damage[set]).filter(|ns| !ns.is_empty());
            if visited().next().is_some() && visited().flatten().all(|ns| ns.is_nan()) {
                let why = "not available: the set never stayed in its cache, perhaps because something else \
                           uses it";
                not_available.insert(format!("damage to {bytes} bytes"), why.into());
            }
        }
        match &self.source {
            None => {
                for (name, floor) in [("L1IM", &self.floors[0]), ("L2M", &self.floors[1])] {
                    not_available.insert(name.into(), self.floor(floor));
                }
                for name in ["L1DR", "L3M", "STALL"] {
                    not_available.insert(name.into(), "not available: time alone does not show it".into());
                }
                for name in ["CYCLE", "CPI"] {
                    let why = "not available: time alone shows it only for calls that stay in user mode";
                    not_available.insert(name.into(), why.into());
                }
            }
            Some(source) => {
                for column in Column::ALL.into_iter().filter(|&column| !source.has(column)) {
                    let why = "not available: no event for it passed its self-test on this CPU";
                    not_available.entry(column.name().into()).or_insert(why.into());
                }
            }
        }
        let options = self.options;
        let parameters = [
            ("cpu", json!(self.cpu)),
            ("sets", json!(options.sets.iter().map(|set| set.name()).collect::<Vec<_>>())),
            ("repeats_warm", json!(options.repeats)),
            ("repeats_cold", json!(self.doses().timed)),
            ("repeats_cold_counted", json!(self.doses().counted)),
            ("events", json!(self.events)),
            ("reading_disturbs", json!(self.source.as_ref().map(|source| source.disturbs()))),
            ("filesystem", json!(self.scratch.filesystem())),
            ("clear_code_bytes", json!(cold::CODE)),
            ("clear_data_bytes", json!(cold::data_bytes(self.caches))),
            ("clear_ms", json!(self.lab.clear_time.as_secs_f64() * 1e3)),
            ("last_level_cache_bytes", json!(self.caches.last)),
            ("l1d_bytes", json!(self.caches.l1d)),
            ("footprint_set_bytes", json!(self.lab.footprint.lines() * caches::LINE)),
            ("footprint_disturbed_share", json!(self.lab.footprint.disturbed_share())),
            ("footprint_line_ns", json!(scale.footprint_ns)),
            ("cold_clock_ns", json!(scale.cold_ns.as_ref().map(|ns| ns.median))),
            ("second_clock_ns", json!(scale.second_ns.as_ref().map(|ns| ns.median))),
            ("clock_ghz", json!(scale.clock_ghz)),
            ("timer_step_ns", json!(Clock::get().step_ns())),
        ];
        for (name, value) in parameters {
            self.frame.parameter(name, value);
        }
        self.frame.method.not_available = not_available;
        self.frame.finish(DESCRIPTION)
    }

    fn floor(&self, comparisons: &[Comparison]) -> String {
        if let Err(error) = &self.lab.floors {
            return format!("not available: {error}");
        }
        match floor::lines(comparisons) {
            Some(lines) => format!(
                "not available: noise floor {lines:.0} lines, and two calibrations by victims of known size \
                 disagree"
            ),
            None => "not available: a missed line cannot be told from a hit by time".into(),
        }
    }
}

const DESCRIPTION: &str = "Batches of calls timed on a pinned thread, in rounds of random order, each call as an \
    instruction in the loop and through the C library; cold after 64 KiB of nops and a walk over \
    `clear_data_bytes`, second right after such a cold call (a receive by MPI: after one more \
    message), warm in the steady state of a loop. \
    The clock's own time is subtracted; calls that cannot be distinguished from it have no time. Damage: walks \
    of a set with and without the call before, in turn; lines are the extra time over a miss's. Footprint, and \
    L1DM of cold calls, which is the same figure: what a call evicts of a set that fills all ways but one of \
    the level-1 data cache, read from the curve of victims that touch a known number of lines at random places. \
    Instructions and lines of the user's side by single steps. With counters: one event at a time, over batches \
    of warm calls and around single cold ones, less what reading counts; footprint and damage by \
    misses, where reading does not disturb the caches. CYCLE and CPI of a call that stays in user \
    mode: its time by the measured clock, where nothing was counted.";
