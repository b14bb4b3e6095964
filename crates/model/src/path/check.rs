//! Predictions beside messages that were timed between two processes on the same machine.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use coho_profile::{Estimate, Profile, Transfer};

use super::{Error, Path, ready};
use crate::stats;

/// The ready paths that messages between two processes here go.
pub const CHECKED: [&str; 2] = ["shared-memory", "tcp-loopback"];

/// A message, measured and predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The ready path that it went.
    pub path: String,
    /// Size of the message, in bytes.
    pub bytes: u64,
    /// The measured time, in ns.
    pub measured: Estimate,
    /// The predicted time, in ns.
    pub predicted_ns: f64,
}

impl Check {
    /// The prediction's error, as a share of the measured time.
    pub fn error(&self) -> f64 {
        self.predicted_ns / self.measured.median - 1.0
    }
}

/// Each of the transfers beside what its path predicts from the profile: rates of copies, times of flags and of calls,
/// never from transfers. Where the profile has flags of the very CPUs between which they went, those count.
///
/// # Errors
/// With file and line: if the profile lacks a figure that a path names; the message then says what to measure.
pub fn check(profile: &Profile, transfers: &[Transfer]) -> Result<Vec<Check>, Error> {
    let mut paths: BTreeMap<(&str, u32, u32), Path> = BTreeMap::new();
    let mut checks = Vec::new();
    for transfer in transfers {
        let key = (transfer.path.as_str(), transfer.from, transfer.to);
        let path = match paths.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let file = ready::file(&transfer.path)?;
                new.insert(file.resolve(Some(&between(profile, transfer)))?)
            }
        };
        let usable = |estimate: &&Estimate| estimate.median.is_finite() && estimate.median > 0.0;
        let Some(measured) = transfer.ns.as_ref().filter(usable) else { continue };
        let [way, ..] = &path.variants[..] else { continue };
        checks.push(Check {
            path: transfer.path.clone(),
            bytes: transfer.bytes,
            measured: measured.clone(),
            predicted_ns: way.time_ns(transfer.bytes as f64, 0.0, 0),
        });
    }
    Ok(checks)
}

/// The median of the errors' sizes; `None` without checks.
pub fn median_error<'a>(checks: impl IntoIterator<Item = &'a Check>) -> Option<f64> {
    let mut errors: Vec<f64> = checks.into_iter().map(|check| check.error().abs()).collect();
    (!errors.is_empty()).then(|| stats::middle(&mut errors))
}

/// The profile with the times of one pair of CPUs alone, if it has any.
fn between(profile: &Profile, transfer: &Transfer) -> Profile {
    let mut profile = profile.clone();
    if let Some(coherence) = &mut profile.coherence {
        let ends = [transfer.from, transfer.to];
        let (own, others): (Vec<_>, Vec<_>) =
            coherence.pairs.drain(..).partition(|pair| ends.contains(&pair.a) && ends.contains(&pair.b));
        coherence.pairs = if own.is_empty() { others } else { own };
    }
    profile
}

#[cfg(test)]
mod tests {
    use coho_profile::{BlockState, Coherence, Home, Memory, MemoryRate, Operation, Pair, PairMethod};

    use super::*;

    fn pair(a: u32, b: u32, ns: f64) -> Pair {
        Pair {
            a,
            b,
            method: PairMethod::Flags,
            home: Home::A,
            ns: Estimate::exact(ns),
            ownership_changes_per_op: None,
            lines: None,
            preempted_batches: 0,
            claimed: None,
        }
    }

    fn profile() -> Profile {
        let rate = |state, rate| MemoryRate {
            op: Operation::Copy,
            instruction: "avx2".into(),
            bytes: 1000,
            threads: 1,
            state: Some(state),
            bytes_per_s: Some(Estimate::exact(rate)),
            ..MemoryRate::default()
        };
        let rates = vec![rate(BlockState::Shared, 1e9), rate(BlockState::Remote, 2e9)];
        let coherence = Coherence { pairs: vec![pair(0, 1, 50.0), pair(0, 2, 90.0)], ..Coherence::default() };
        let memory = Memory { rates, ..Memory::default() };
        Profile { memory: Some(memory), coherence: Some(coherence), ..Profile::default() }
    }

    fn transfer(to: u32, bytes: u64, ns: f64) -> Transfer {
        Transfer { path: "shared-memory".into(), from: 0, to, bytes, ns: Some(Estimate::exact(ns)) }
    }

    #[test]
    fn a_message_takes_two_copies_and_the_flag_of_its_own_cpus() {
        let checks = check(&profile(), &[transfer(2, 1000, 2000.0), transfer(1, 1000, 1600.0)]).unwrap();
        assert_eq!(checks[0].predicted_ns, 1000.0 + 90.0 + 500.0);
        assert_eq!(checks[1].predicted_ns, 1000.0 + 50.0 + 500.0);
        assert!((checks[0].error() - (1590.0 / 2000.0 - 1.0)).abs() < 1e-12);
        let median = median_error(&checks).unwrap();
        assert!((median - 50.0 / 1600.0).abs() < 1e-12, "the lower of two: {median}");
        assert_eq!(median_error(&[]), None);
    }

    #[test]
    fn what_is_lacking_is_asked_for() {
        let mut without = profile();
        without.coherence = None;
        let error = check(&without, &[transfer(1, 64, 100.0)]).unwrap_err().to_string();
        assert!(error.contains("shared-memory, line") && error.contains("coho coherence"), "{error}");
        let tcp = Transfer { path: "tcp-loopback".into(), ..transfer(1, 64, 100.0) };
        let error = check(&profile(), &[tcp]).unwrap_err().to_string();
        assert!(error.contains("coho calls --call 'send(64)'"), "{error}");
        let unknown = Transfer { path: "pigeon".into(), ..transfer(1, 64, 100.0) };
        assert!(check(&profile(), &[unknown]).is_err());
    }
}
