//! The lines of a program that was built with -fsanitize=thread, in one run that counts all accesses to them.

use std::time::Instant;

use coho_platform::host::date;
use coho_profile::{Method, Share, ShareTotal};
use coho_recording::COUNT;
use serde_json::json;

use super::lines::{Recorded, lines};
use super::recordings::{Place, Recordings};
use super::{ALL, Prepared, Wish, once, prepared};
use crate::child::{Job, words};
use crate::per_thread;
use crate::plan::Error;
use crate::preload::{self, Library, check_counted};
use crate::trial;

const DESCRIPTION: &str = "The program, built with -fsanitize=thread, ran once on the CPUs, its threads dealt out to \
                           them in turn. coho's library took the place of the runtime that looks for races, and \
                           counted accesses to lines from when they had gone from one thread to another four times.";
const WHY_NO_TOTAL: &str = "it is built with -fsanitize=thread, whose calls take time of their own; `coho share` \
                            without --exact tells what sharing costs the ordinary build";

/// Runs the program once and counts what its threads do to the lines that they share. A signal ends it, and is
/// returned. To be called before any other thread starts.
///
/// # Errors
/// [`Error`] if its accesses cannot be counted, or it cannot be started or does not end well.
pub fn exact(wish: &Wish) -> Result<(Share, Option<i32>), Error> {
    if let Some(program) = wish.command.first() {
        check_counted(program).map_err(Error::NotCounted)?;
    }
    let Prepared { signals, order, job, .. } = prepared(wish)?;
    let none =
        |why: std::io::Error| Error::Trial(trial::Error::Other(format!("no file to record into: {why}")));
    let place = Place::new().map_err(none)?;
    let libraries = preload::variable(&[Library::Pin, Library::Share, Library::Exact])?;
    let environment =
        vec![per_thread::environment(&order), libraries, place.variable(), (COUNT.into(), "1".into())];
    let started = Instant::now();
    let run = once::once(&Job { environment, output: wish.output, ..job }, ALL, None, &signals)?;
    let Some(run) = run else {
        let signal = signals.asked_to_end().unwrap_or(libc::SIGTERM);
        return Err(Error::Stopped { signal, left: None });
    };
    let mut share = Share {
        command: words(&wish.command),
        cpus: order,
        total: ShareTotal { why_not: Some(WHY_NO_TOTAL.into()), ..ShareTotal::default() },
        exact: true,
        ..Share::default()
    };
    share.method = Method {
        description: DESCRIPTION.into(),
        date: Some(date()),
        passes: 1,
        duration_s: started.elapsed().as_secs_f64(),
        ..Method::default()
    };
    share.method.parameters.insert("cpu_s".into(), json!(run.cpu.as_secs_f64()));
    let mut recordings = Recordings::default();
    match recordings.read(&place, true) {
        Ok(recorded) => {
            let recorded = Recorded { all: vec![recorded], one: Vec::new() };
            let found = lines(&recorded, &recordings.files, &share.total);
            share.lines = Some(found.into_iter().map(|found| found.line).collect());
        }
        Err(why) => share.why_no_lines = Some(why),
    }
    if recordings.lost > 0 {
        let why = format!("the recording was full: {} records found no room", recordings.lost);
        share.method.not_available.insert("some counts".into(), why);
        share.method.parameters.insert("records_lost".into(), json!(recordings.lost));
    }
    Ok((share, signals.asked_to_end()))
}
