//! Reading in user mode, as paper 2's own tool does.

use std::array;
use std::hint::black_box;

use coho_counters::{Bias, Counter, Event, Group, Lost, Mode, StandIn};

use super::{Open, Repeat, Tool, repeat};

const FOUR: usize = 4;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool {
            name: "user-level read",
            open: Box::new(|| {
                let counter = counter()?;
                Ok(cycles(repeat(move || counter.read())))
            }),
            step: Ok(stand_in(|[page]| page.page().read())),
        },
        Tool {
            name: "user-level start and stop",
            open: Box::new(|| {
                let counter = counter()?;
                let bias = counter.calibrate().map_err(|lost| lost.to_string())?;
                Ok(cycles(repeat(move || Ok::<_, Lost>(counter.start()?.stop()?.less(bias)))))
            }),
            step: Ok(stand_in(|[page]| Ok::<_, Lost>(page.page().start()?.stop()?.less(Bias(0))))),
        },
        Tool {
            name: "user-level read of 4 events",
            open: Box::new(|| {
                let group = Group::open(&vec![Event::cycles(); FOUR], Mode::User)
                    .map_err(|error| error.to_string())?;
                let read = move || {
                    let mut counts = [0; FOUR];
                    group.read(&mut counts).map(|()| counts)
                };
                read().map_err(|lost| lost.to_string())?;
                Ok(cycles(repeat(read)))
            }),
            step: Ok(stand_in(|pages: &[StandIn; FOUR]| pages.each_ref().map(|page| page.page().read()))),
        },
    ]
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
fn stand_in<T, const N: usize>(operation: impl Fn(&[StandIn; N]) -> T + 'static) -> Repeat {
    // SAFETY: only the stepper runs it, which answers for the instruction.
    let pages: [StandIn; N] = array::from_fn(|_| unsafe { StandIn::new() });
    repeat(move || operation(black_box(&pages)))
}
