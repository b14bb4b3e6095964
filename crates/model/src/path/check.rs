//! Predictions beside messages that were timed between two processes on the same machine.

use std::collections::BTreeMap;

use coho_profile::{Estimate, Memory, Method, Ns, Profile, Transfer, TransferPass};
use serde::Serialize;

use super::{Error, PathFile, VALIDITY, ready};
use crate::stats;

/// The ready paths that messages between two processes take here.
pub const CHECKED: [&str; 2] = ["shared-memory", "tcp-loopback"];

/// The smallest message checked; smaller ones are parts of the prediction.
const LEAST_BYTES: u64 = 64;

/// A message, measured and predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// The ready path that it took.
    pub path: String,
    /// Size of the message, in bytes.
    pub bytes: u64,
    /// The predicted time; of several passes, the median of each pass's own prediction.
    pub predicted_ns: Ns,
    /// The measured time, in ns.
    pub measured_ns: Estimate,
    /// The prediction's error, as a share of the measured time: what the two figures shown say.
    pub error: f64,
    /// What the parts in an earlier profile predict.
    pub predicted_by_profile_ns: Option<Ns>,
}

/// Several messages, and how far off the predictions are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    /// The messages.
    pub checks: Vec<Check>,
    /// The median of the errors' sizes; `None` without messages.
    pub median_error: Option<f64>,
    /// The largest of them.
    pub largest_error: Option<f64>,
    /// Their median for each path that has messages.
    pub median_error_by_path: BTreeMap<&'static str, f64>,
    /// Under which conditions the predictions hold.
    pub validity: &'static str,
    /// How the messages were timed.
    pub method: Method,
}

impl Checked {
    /// Of these messages, timed by this method.
    pub fn of(checks: Vec<Check>, method: Method) -> Self {
        let by_path = |name| Some((name, median_error(checks.iter().filter(|check| check.path == name))?));
        Self {
            median_error: median_error(&checks),
            largest_error: largest_error(&checks),
            median_error_by_path: CHECKED.into_iter().filter_map(by_path).collect(),
            checks,
            validity: VALIDITY,
            method,
        }
    }
}

/// Each transfer beside what its path predicts from the transfer's own parts, pass by pass: parts and messages of one
/// pass are from the same moment and lines. What is predicted is the median of the passes' own predictions.
///
/// # Errors
/// As for [`check`].
pub fn check_within(transfers: &[Transfer]) -> Result<Vec<Check>, Error> {
    predicted(transfers, |transfer| {
        if transfer.passes.is_empty() {
            return vec![between(transfers, transfer)];
        }
        let passes = transfer.passes.iter().filter(|pass| pass.ns > 0.0);
        passes.map(|pass| of_pass(transfer, pass)).collect()
    })
}

/// Each transfer beside what its path predicts from `parts`: the times of messages' ends, and the flag. Those were
/// timed with messages other than the whole ones. If they were measured in the same passes, they are from the same
/// moment and lines; from an earlier profile, they show what has changed since.
///
/// # Errors
/// With file and line, if the parts lack a figure that a path names; the message then says what to measure.
pub fn check(parts: &[Transfer], transfers: &[Transfer]) -> Result<Vec<Check>, Error> {
    predicted(transfers, |transfer| vec![between(parts, transfer)])
}

/// Each transfer beside the median of what its path predicts from several lists of parts.
fn predicted(
    transfers: &[Transfer],
    parts_of: impl Fn(&Transfer) -> Vec<Vec<Transfer>>,
) -> Result<Vec<Check>, Error> {
    let mut checks = Vec::new();
    for transfer in transfers {
        let Transfer { path, bytes, .. } = transfer;
        if *bytes < LEAST_BYTES || !CHECKED.contains(&path.as_str()) {
            continue;
        }
        let file = ready::file(path)?;
        let predictions = parts_of(transfer).into_iter().map(|parts| time(&file, parts, *bytes));
        let mut predictions: Vec<f64> = predictions.collect::<Result<_, _>>()?;
        let usable = |ns: &Estimate| ns.median.is_finite() && ns.median > 0.0 && !predictions.is_empty();
        let Some(measured_ns) = transfer.ns.clone().filter(usable) else { continue };
        let predicted_ns = Ns(stats::median(&mut predictions));
        checks.push(Check {
            path: path.clone(),
            bytes: *bytes,
            predicted_ns,
            error: predicted_ns / Ns(measured_ns.median) - 1.0,
            measured_ns,
            predicted_by_profile_ns: None,
        });
    }
    Ok(checks)
}

/// What a message takes on a path with one way, in ns, by these parts.
fn time(file: &PathFile, parts: Vec<Transfer>, bytes: u64) -> Result<f64, Error> {
    let memory = Some(Memory { transfers: parts, ..Memory::default() });
    let path = file.resolve(Some(&Profile { memory, ..Profile::default() }))?;
    Ok(path.variants[0].time(bytes as f64, Ns::ZERO, 0).0)
}

/// What one pass measured.
fn of_pass(transfer: &Transfer, pass: &TransferPass) -> Vec<Transfer> {
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
    transfers
}

/// Parts of messages between the two CPUs, if there are any; otherwise parts between others.
fn between(parts: &[Transfer], transfer: &Transfer) -> Vec<Transfer> {
    let ends = [transfer.from, transfer.to];
    let (own, others): (Vec<_>, Vec<_>) =
        parts.iter().cloned().partition(|part| ends.contains(&part.from) && ends.contains(&part.to));
    if own.iter().any(|part| part.path == transfer.path) { own } else { others }
}

/// The median of the absolute errors; `None` without checks.
pub fn median_error<'a>(checks: impl IntoIterator<Item = &'a Check>) -> Option<f64> {
    let mut errors: Vec<f64> = checks.into_iter().map(|check| check.error.abs()).collect();
    (!errors.is_empty()).then(|| stats::middle(&mut errors))
}

/// The largest of the absolute errors; `None` without checks.
pub fn largest_error<'a>(checks: impl IntoIterator<Item = &'a Check>) -> Option<f64> {
    checks.into_iter().map(|check| check.error.abs()).reduce(f64::max)
}
