//! Predictions beside messages that were timed between two processes on the same machine.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use coho_profile::{Estimate, Memory, Ns, Profile, Transfer, TransferPass};

use super::{Error, Path, PathFile, ready};
use crate::stats;

/// The ready paths that messages between two processes take here.
pub const CHECKED: [&str; 2] = ["shared-memory", "tcp-loopback"];

/// The smallest message checked; smaller ones are parts of the prediction.
const LEAST_BYTES: u64 = 64;

/// A message, measured and predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The ready path that it took.
    pub path: String,
    /// Size of the message, in bytes.
    pub bytes: u64,
    /// The measured time, in ns.
    pub measured: Estimate,
    /// The predicted time; of several passes, the median of each pass's own prediction.
    pub predicted: Ns,
}

impl Check {
    /// The prediction's error, as a share of the measured time: what the two figures shown say.
    pub fn error(&self) -> f64 {
        self.predicted / Ns(self.measured.median) - 1.0
    }
}

/// Each transfer beside what its path predicts from the transfer's own parts, pass by pass: parts and messages of one
/// pass are from the same moment and lines. What is predicted is the median of the passes' own predictions.
///
/// # Errors
/// As for [`check`].
pub fn check_within(transfers: &[Transfer]) -> Result<Vec<Check>, Error> {
    let mut files: BTreeMap<&str, PathFile> = BTreeMap::new();
    let mut checks = Vec::new();
    let checked = |transfer: &&Transfer| transfer.bytes >= LEAST_BYTES && is_checked(transfer);
    for transfer in transfers.iter().filter(checked) {
        if transfer.passes.is_empty() {
            checks.extend(check(transfers, std::slice::from_ref(transfer))?);
            continue;
        }
        let file = match files.entry(&transfer.path) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(ready::file(&transfer.path)?),
        };
        let mut predicted = Vec::new();
        for pass in transfer.passes.iter().filter(|pass| pass.ns > 0.0) {
            let path = file.resolve(Some(&of_pass(transfer, pass)))?;
            let way = path.variants.first();
            predicted.extend(way.map(|way| way.time(transfer.bytes as f64, Ns::ZERO, 0).0));
        }
        let Some(measured) = transfer.ns.clone().filter(|ns| ns.median > 0.0 && !predicted.is_empty()) else {
            continue;
        };
        let predicted = Ns(stats::median(&mut predicted));
        checks.push(Check { path: transfer.path.clone(), bytes: transfer.bytes, measured, predicted });
    }
    Ok(checks)
}

/// What one pass measured, as a profile.
fn of_pass(transfer: &Transfer, pass: &TransferPass) -> Profile {
    let message = |bytes, [ns, send, receive]: [f64; 3]| Transfer {
        path: transfer.path.clone(),
        bytes,
        ns: Some(Estimate::exact(ns)),
        send_ns: Some(Estimate::exact(send)),
        receive_ns: Some(Estimate::exact(receive)),
        ..Transfer::default()
    };
    let mut transfers = vec![
        message(0, [pass.least_ns, pass.least_send_ns, pass.least_receive_ns]),
        message(transfer.bytes, [pass.ns, pass.send_ns, pass.receive_ns]),
    ];
    if transfer.bytes > LEAST_BYTES && pass.line_receive_ns > 0.0 {
        transfers.push(message(LEAST_BYTES, [pass.ns, pass.send_ns, pass.line_receive_ns]));
    }
    Profile { memory: Some(Memory { transfers, ..Memory::default() }), ..Profile::default() }
}

/// Each transfer beside what its path predicts from `parts`: the times of messages' ends, and the flag. Those were
/// timed with messages other than the whole ones. If they were measured in the same passes, they are from the same
/// moment and lines; from an earlier profile, they show what has changed since.
///
/// # Errors
/// With file and line, if the parts lack a figure that a path names; the message then says what to measure.
pub fn check(parts: &[Transfer], transfers: &[Transfer]) -> Result<Vec<Check>, Error> {
    let mut paths: BTreeMap<(&str, u32, u32), Path> = BTreeMap::new();
    let mut checks = Vec::new();
    for transfer in transfers.iter().filter(|transfer| transfer.bytes >= LEAST_BYTES && is_checked(transfer))
    {
        let key = (transfer.path.as_str(), transfer.from, transfer.to);
        let path = match paths.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let file = ready::file(&transfer.path)?;
                new.insert(file.resolve(Some(&between(parts, transfer)))?)
            }
        };
        let usable = |estimate: &&Estimate| estimate.median.is_finite() && estimate.median > 0.0;
        let Some(measured) = transfer.ns.as_ref().filter(usable) else { continue };
        let [way, ..] = &path.variants[..] else { continue };
        checks.push(Check {
            path: transfer.path.clone(),
            bytes: transfer.bytes,
            measured: measured.clone(),
            predicted: way.time(transfer.bytes as f64, Ns::ZERO, 0),
        });
    }
    Ok(checks)
}

/// The median of the absolute errors; `None` without checks.
pub fn median_error<'a>(checks: impl IntoIterator<Item = &'a Check>) -> Option<f64> {
    let mut errors: Vec<f64> = checks.into_iter().map(|check| check.error().abs()).collect();
    (!errors.is_empty()).then(|| stats::middle(&mut errors))
}

/// The largest of the absolute errors; `None` without checks.
pub fn largest_error<'a>(checks: impl IntoIterator<Item = &'a Check>) -> Option<f64> {
    checks.into_iter().map(|check| check.error().abs()).reduce(f64::max)
}

fn is_checked(transfer: &Transfer) -> bool {
    CHECKED.contains(&transfer.path.as_str())
}

/// Parts of messages between the two CPUs, if there are any; otherwise parts between others.
fn between(parts: &[Transfer], transfer: &Transfer) -> Profile {
    let ends = [transfer.from, transfer.to];
    let (own, others): (Vec<_>, Vec<_>) =
        parts.iter().cloned().partition(|part| ends.contains(&part.from) && ends.contains(&part.to));
    let has = |all: &[Transfer]| all.iter().any(|part| part.path == transfer.path);
    let transfers = if has(&own) { own } else { others };
    Profile { memory: Some(Memory { transfers, ..Memory::default() }), ..Profile::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message whose ends and whole take these ns.
    fn transfer(path: &str, to: u32, bytes: u64, [send, whole, receive]: [f64; 3]) -> Transfer {
        Transfer {
            path: path.into(),
            from: 0,
            to,
            bytes,
            ns: Some(Estimate::exact(whole)),
            send_ns: Some(Estimate::exact(send)),
            receive_ns: Some(Estimate::exact(receive)),
            ..Transfer::default()
        }
    }

    /// A host moved a CPU between two passes: each pass agrees with itself, and their medians would not.
    #[test]
    fn a_message_is_held_against_the_parts_of_its_own_pass() {
        let pass = |flag: f64, send, receive, ns| TransferPass {
            line_receive_ns: 5.0 + receive / 2.0,
            ns,
            send_ns: send + 5.0,
            receive_ns: receive + 5.0,
            least_ns: flag,
            // What reading the clock takes, of any message.
            least_send_ns: 5.0,
            least_receive_ns: 5.0,
        };
        let near = pass(50.0, 20.0, 30.0, 100.0);
        let far = pass(260.0, 20.0, 120.0, 400.0);
        let mut message = transfer("shared-memory", 1, 1024, [0.0, 100.0, 0.0]);
        message.passes = vec![near, far, near];
        let checks = check_within(&[message.clone()]).unwrap();
        assert!((checks[0].predicted.0 - 100.0).abs() < 1e-9, "{checks:?}");
        // The time shown is one that was predicted, and the error compares it with the measured time shown.
        message.passes = [170.0, 165.0, 105.0].map(|ns| pass(50.0, 20.0, 30.0, ns)).to_vec();
        message.ns = Some(Estimate::exact(140.0));
        let checks = check_within(&[message.clone()]).unwrap();
        assert!((checks[0].predicted.0 - 100.0).abs() < 1e-9, "not 100 / 165 of 140 ns: {checks:?}");
        assert!((checks[0].error() - (100.0 / 140.0 - 1.0)).abs() < 1e-9, "{checks:?}");
        // Of a short one the line that comes along with the flag is not paid twice.
        message.bytes = 256;
        message.passes = vec![pass(50.0, 20.0, 30.0, 85.0)];
        message.ns = Some(Estimate::exact(85.0));
        assert!(check_within(&[message.clone()]).unwrap()[0].error().abs() < 1e-9);
        message.bytes = 64;
        message.passes = vec![pass(50.0, 20.0, 30.0, 70.1)];
        message.ns = Some(Estimate::exact(70.1));
        assert!(check_within(&[message]).unwrap()[0].error().abs() < 2e-3, "it is that line");
    }

    fn parts() -> Vec<Transfer> {
        [(1, 50.0), (2, 90.0)]
            .into_iter()
            .flat_map(|(to, flag)| {
                [
                    transfer("shared-memory", to, 0, [0.0, flag, 0.0]),
                    transfer("shared-memory", to, 1000, [1000.0, 7777.0, 500.0]),
                ]
            })
            .collect()
    }

    #[test]
    fn a_message_takes_both_ends_and_the_flag_of_its_own_cpus() {
        let whole =
            [(2, 2000.0), (1, 1600.0)].map(|(to, ns)| transfer("shared-memory", to, 1000, [0.0, ns, 0.0]));
        let checks = check(&parts(), &whole).unwrap();
        assert_eq!(
            checks[0].predicted,
            Ns(1000.0 + 90.0 + 500.0),
            "the whole of the parts' message is not used"
        );
        assert_eq!(checks[1].predicted, Ns(1000.0 + 50.0 + 500.0));
        assert!((checks[0].error() - (1590.0 / 2000.0 - 1.0)).abs() < 1e-12);
        let median = median_error(&checks).unwrap();
        assert!((median - 50.0 / 1600.0).abs() < 1e-12, "the lower of two: {median}");
        assert!((largest_error(&checks).unwrap() - (1.0 - 1590.0 / 2000.0)).abs() < 1e-12);
        assert_eq!((median_error(&[]), largest_error(&[])), (None, None));
    }

    /// Beyond a packet both ends are at work at the same time.
    #[test]
    fn messages_over_tcp_overlap_packet_by_packet() {
        let parts = [
            transfer("tcp-loopback", 1, 1, [3000.0, 5000.0, 500.0]),
            transfer("tcp-loopback", 1, 65536, [20_000.0, 1.0, 10_000.0]),
            transfer("tcp-loopback", 1, 4 * 65536, [80_000.0, 1.0, 40_000.0]),
        ];
        // 3500 of the 5000 ns of the least message are its ends' own.
        let predicted: Vec<Ns> = check(&parts, &parts).unwrap().iter().map(|check| check.predicted).collect();
        let packet = 20_000.0 + 1500.0 + 10_000.0;
        assert_eq!(predicted, [packet, packet + 3.0 * 20_000.0].map(Ns));
    }

    #[test]
    fn what_is_lacking_is_asked_for_and_what_is_no_path_passed_over() {
        let whole = [transfer("shared-memory", 1, 64, [0.0, 100.0, 0.0])];
        let error = check(&[], &whole).unwrap_err().to_string();
        assert!(
            error.contains("shared-memory, line") && error.contains("coho memory --parts transfers"),
            "{error}"
        );
        let mut untimed = parts();
        untimed.iter_mut().for_each(|part| part.send_ns = None);
        assert!(check(&untimed, &whole).is_err(), "the parts have no times");
        assert_eq!(check(&parts(), &[transfer("process-vm", 1, 64, [0.0, 1.0, 0.0])]), Ok(Vec::new()));
        assert_eq!(check(&parts(), &parts()[..1]), Ok(Vec::new()), "the flag is a part");
    }
}
