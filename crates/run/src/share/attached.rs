//! The lines of a process that runs already, without what they cost it.

use std::fs;
use std::time::Duration;

use coho_platform::host::date;
use coho_platform::pin;
use coho_profile::{Method, Share, ShareTotal};
use serde_json::json;

use super::lines::{Recorded, lines};
use super::recordings::Recordings;
use crate::child::{NotAttached, Signals, watch, why_no_samples};

const DESCRIPTION: &str = "A process that ran already was traced for a time: each of its threads that ran was stopped for a \
                           moment, 100 to 1000 times a second, and its registers were read.";

/// Watches a process for a time and tells its lines. A signal ends it early, and is returned. To be called before any other
/// thread starts.
///
/// # Errors
/// [`NotAttached`] if the process cannot be traced.
pub fn attached(process: u32, duration: Duration) -> Result<(Share, Option<i32>), NotAttached> {
    let io = |error| NotAttached::Io(process, error);
    let signals = Signals::hold().map_err(io)?;
    let command = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = command.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let command = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let cpus = pin::of_thread(process).map(|cpus| cpus.iter().collect()).unwrap_or_default();
    let total = ShareTotal {
        why_not: Some("a process that runs already cannot be run again on one CPU".into()),
        ..ShareTotal::default()
    };
    let mut share = Share { command, cpus, total, ..Share::default() };
    share.method = Method { description: DESCRIPTION.into(), date: Some(date()), ..Method::default() };
    if let Some(why) = why_no_samples() {
        share.why_no_lines = Some(why.into());
        return Ok((share, None));
    }
    let watched = watch(process, duration, &signals)?;
    let signal = signals.asked_to_end();
    let mut recordings = Recordings::default();
    let run = recordings.read_samples(watched.samples, true);
    share.method.passes = 1;
    share.method.duration_s = watched.elapsed.as_secs_f64();
    share.method.interrupted = signal.is_some();
    let told = [
        ("process", json!(process)),
        ("has_ended", json!(watched.has_ended)),
        ("sampled_s", json!(run.seconds)),
    ];
    share.method.parameters = told.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    if recordings.lost > 0 {
        share.method.parameters.insert("records_lost".into(), json!(recordings.lost));
    }
    if run.seconds == 0.0 {
        let seconds = watched.elapsed.as_secs_f64();
        share.why_no_lines = Some(format!("none of its threads was found running in {seconds:.1} s"));
    } else {
        let recorded = Recorded { all: vec![run], one: Vec::new() };
        let found = lines(&recorded, &recordings.files, &share.total);
        share.lines = Some(found.into_iter().map(|found| found.line).collect());
    }
    Ok((share, signal))
}
