//! Whether this machine is as its group is, in seconds.

use std::time::{Duration, Instant};

use coho_model::fleet::{Checked, Checker, Limits, Place};
use coho_platform::stop;
use coho_probe::experiment::{EXPERIMENTS, Entry, Observer, Plan, Survey, survey};
use coho_probe::{Course, host};
use coho_profile::{Host, Profile};
use coho_topology::Topology;

/// The part of the time that the first measurement takes at most, so that what looks odd can be measured again.
const FIRST: f64 = 0.5;
/// What experiments take beyond their time, and the rest of the command.
const SPARE: Duration = Duration::from_millis(500);
/// What looks odd is measured again so often, if there is time.
const AGAIN: usize = 3;

/// Measures within this time what the limits are of, and compares. What looks odd is measured again, and called odd only if
/// it is so each time.
///
/// # Errors
/// If the topology cannot be detected.
pub fn check(limits: &Limits, within: Duration) -> Result<Checked, coho_topology::Error> {
    let started = Instant::now();
    let mut checked = checked(limits, started, within)?;
    checked.seconds = started.elapsed().as_secs_f64();
    Ok(checked)
}

fn checked(limits: &Limits, started: Instant, within: Duration) -> Result<Checked, coho_topology::Error> {
    let host = host::collect();
    let topology = coho_topology::detect()?;
    let machine =
        Profile { host: Some(host.clone()), topology: Some(topology.clone().into()), ..Profile::default() };
    let group = match limits.place(&machine) {
        Place::In(group) => group,
        Place::But(group, differing) => return Ok(Checked::differs(group, &differing)),
        Place::Nowhere(why) => return Ok(Checked::cannot_tell(why)),
    };
    if let Some(why) = group.too_few() {
        return Ok(Checked::cannot_tell(why));
    }
    let node = Node { host: &host, topology: &topology };
    let left = || within.saturating_sub(started.elapsed() + SPARE);
    let mut checker = Checker::new(group);
    checker.add(&machine);
    node.measure(&entries(&checker.sections()), left().mul_f64(FIRST), &mut checker);
    for round in 0..AGAIN {
        let open: Vec<&'static str> =
            checker.sections().into_iter().filter(|name| checker.open().contains(name)).collect();
        if open.is_empty() || left().is_zero() || stop::requested() {
            break;
        }
        let host = host::collect();
        checker.add(&Profile { host: Some(host), ..Profile::default() });
        node.measure(&entries(&open), left() / (AGAIN - round) as u32, &mut checker);
    }
    Ok(checker.answer())
}

/// The experiments of these sections.
fn entries(sections: &[&str]) -> Vec<Entry> {
    sections
        .iter()
        .filter_map(|name| EXPERIMENTS.iter().find(|entry| entry.section == *name).copied())
        .collect()
}

struct Node<'a> {
    host: &'a Host,
    topology: &'a Topology,
}

/// Is told nothing.
struct Quiet;

impl Observer for Quiet {}

impl Node<'_> {
    /// Measures each in its part of the time. Those that show most come last, and have what the others leave.
    fn measure(&self, entries: &[Entry], within: Duration, checker: &mut Checker<'_>) {
        let started = Instant::now();
        for (index, entry) in entries.iter().rev().enumerate() {
            let left = within.saturating_sub(started.elapsed()) / (entries.len() - index) as u32;
            if left.is_zero() || stop::requested() {
                return;
            }
            let course = Course { time_limit: Some(left), seed: fastrand::u64(..), ..Course::default() };
            let plan = Plan { host: self.host, topology: self.topology, mpi_rank: None, path: None };
            let only = Some(checker.keys(entry.section));
            let asked = Survey { quick: true, only, course };
            // What cannot be measured here has its reason in the profile, and no figure to compare.
            if let Ok(outcome) = survey(&[*entry], &asked, plan, &mut Quiet) {
                checker.add(&Profile { host: None, ..outcome.profile });
            }
        }
    }
}
