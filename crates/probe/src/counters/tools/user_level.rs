//! Reading in user mode, like Shimosawa, Hori & Ishikawa's own tool.

use std::array;

use coho_counters::{Bias, Counter, Event, Group, Mode, Page, StandIn};

use super::{Open, Repeat, Tool, repeat};

const FOUR: usize = 4;

/// A loop cannot report a failure; whether the counter can be read is checked when it is opened.
const FAILED: u64 = u64::MAX;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool {
            name: "user-level read",
            open: Box::new(|| {
                let counter = counter()?;
                Ok(cycles(repeat(move || counter.read().unwrap_or(FAILED))))
            }),
            step: Ok(stand_in(|[page]| page.read().unwrap_or(FAILED))),
        },
        Tool {
            name: "user-level start and stop",
            open: Box::new(|| {
                let counter = counter()?;
                let bias = counter.calibrate().map_err(|lost| lost.to_string())?;
                Ok(cycles(repeat(move || events(counter.page(), bias))))
            }),
            step: Ok(stand_in(|[page]| events(page, Bias(0)))),
        },
        Tool {
            name: "user-level read of 4 events",
            open: Box::new(|| {
                let group = Group::open(&vec![Event::cycles(); FOUR], Mode::User)
                    .map_err(|error| error.to_string())?;
                group.read(&mut [0; FOUR]).map_err(|lost| lost.to_string())?;
                Ok(cycles(repeat(move || {
                    let mut counts = [0; FOUR];
                    group.read(&mut counts).map_or([FAILED; FOUR], |()| counts)
                })))
            }),
            step: Ok(stand_in(|pages: &[Page; FOUR]| pages.map(|page| page.read().unwrap_or(FAILED)))),
        },
    ]
}

/// The event name if nothing is counted.
#[inline(always)]
fn events(page: &Page, bias: Bias) -> i64 {
    let delta = page.start().and_then(|span| Ok(span.stop()?.less(bias)));
    delta.map_or(i64::MAX, |delta| delta.events())
}

fn cycles(run: Repeat) -> Open {
    Open { run, event: Event::cycles().name }
}

/// A counter that user mode can read.
fn counter() -> Result<Counter, String> {
    let counter = Counter::open(&Event::cycles(), Mode::User).map_err(|error| error.to_string())?;
    counter.read().map_err(|lost| lost.to_string())?;
    Ok(counter)
}

/// An operation on pages that stand in for the kernel's.
fn stand_in<T, const N: usize>(operation: impl Fn(&[Page; N]) -> T + 'static) -> Repeat {
    // SAFETY: only the stepper runs it, which emulates the instruction.
    let kept: [StandIn; N] = array::from_fn(|_| unsafe { StandIn::new() });
    let pages = kept.each_ref().map(StandIn::page);
    let mut repeated = repeat(move || operation(&pages));
    Box::new(move |times| {
        // The pages live as long as what reads them.
        let _kept = &kept;
        repeated(times);
    })
}
