//! Explores how threads wait, state by state, on a model of x86.
//!
//! A thread that takes a step pays no fence; a thread that goes to sleep makes the kernel fence all threads instead
//! (`src/wait/bell.rs`). The model checks in `tests/models` run the source itself, but they know neither store buffers
//! nor `membarrier`. Here the code is written again, one operation at a time, for a machine that has both.
//!
//! The model leaves out:
//! - orders weaker than x86's and what the compiler may do, which `tests/models` checks;
//! - counters behind locks, barriers in rounds and the places of constructs, which wait by the same functions;
//! - dozing and yielding, which are looks like any other;
//! - the clock: any wait may last for any time;
//! - threads that are off their CPU: `membarrier` does not interrupt them, but the kernel has emptied their buffers.

mod barriers;
mod code;
mod fork;
mod machine;
mod memory;

use std::time::Instant;

use barriers::{Algorithm, Event, meet};
use code::{Fences, Mistake, Patience, Variant};
use fork::{Deed, follow};
use machine::{Machine, NOBODY_EARLY, NOBODY_LOST};
use stateright::{Checker, HasDiscoveries, Model};

const USUAL: Variant =
    Variant { fences: Fences::Asymmetric, patience: Patience::Any, spurious: 0, mistake: None };
const SPINNING: Variant = Variant { patience: Patience::Endless, ..USUAL };

fn with(fences: Fences) -> Variant {
    Variant { fences, ..USUAL }
}

fn explore(name: &str, machine: Machine, until: HasDiscoveries) -> impl Checker<Machine> {
    let begun = Instant::now();
    let checker = machine.checker().finish_when(until).spawn_bfs().join();
    println!("{name}: {} states in {:.1?}", checker.unique_state_count(), begun.elapsed());
    checker
}

/// The shortest way to break a property, with the function that each step is taken in.
fn trace(checker: &impl Checker<Machine>, property: &'static str) -> Option<String> {
    let steps = checker.discovery(property)?.into_vec().into_iter();
    let steps = steps.filter_map(|(state, action)| Some(checker.model().describe(&state, action?)));
    Some(format!("not so: {property}\n  {}", steps.collect::<Vec<_>>().join("\n  ")))
}

fn holds(name: &str, machine: Machine) {
    let checker = explore(name, machine, HasDiscoveries::AnyFailures);
    for property in [NOBODY_EARLY, NOBODY_LOST] {
        if let Some(trace) = trace(&checker, property) {
            panic!("{name}: {trace}");
        }
    }
    checker.assert_properties();
}

fn breaks(name: &str, property: &'static str, machine: Machine) {
    let checker = explore(name, machine, HasDiscoveries::AnyOf([property].into()));
    let trace = trace(&checker, property);
    println!("{}", trace.unwrap_or_else(|| panic!("{name}: found nothing")));
}

#[test]
fn barriers_of_two_asleep_and_awake() {
    for algorithm in [Algorithm::Fbs, Algorithm::Central] {
        let two = |episodes, variant| meet(algorithm, 2, episodes, Event::None, variant);
        // Four episodes take the numbers back to one that has been used.
        holds(&format!("{algorithm}, 4 episodes"), two(4, USUAL));
        holds(&format!("{algorithm}, woken for no reason"), two(2, Variant { spurious: 1, ..USUAL }));
        holds(&format!("{algorithm}, full fences"), two(3, with(Fences::Full)));
        holds(&format!("{algorithm}, membarrier refused"), two(2, with(Fences::Refused)));
        holds(&format!("{algorithm}, spinning"), two(6, SPINNING));
        // A lesser fence that x86 alone allows; it also shows that the model has read-modify-writes empty the buffer.
        holds(&format!("{algorithm}, only the ringer fences"), two(2, with(Fences::RingerAlone)));
    }
}

#[test]
fn barriers_of_three() {
    let three = |algorithm, episodes, variant| meet(algorithm, 3, episodes, Event::None, variant);
    holds("FBS of three", three(Algorithm::Fbs, 1, USUAL));
    holds("FBS of three, spinning", three(Algorithm::Fbs, 4, SPINNING));
    holds("central of three", three(Algorithm::Central, 1, Variant { spurious: 1, ..USUAL }));
    holds("central of three, 2 episodes", three(Algorithm::Central, 2, USUAL));
    holds("central of three, spinning", three(Algorithm::Central, 4, SPINNING));
}

#[test]
fn waits_that_time_out_go_on() {
    for algorithm in [Algorithm::Fbs, Algorithm::Central] {
        let timeouts = |threads, episodes, ranks, variant| {
            meet(algorithm, threads, episodes, Event::Timeouts(ranks), variant)
        };
        holds(&format!("{algorithm}, both time out"), timeouts(2, 2, 2, USUAL));
        holds(&format!("{algorithm}, both time out, spinning"), timeouts(2, 4, 2, SPINNING));
        holds(&format!("{algorithm} of three, two time out, spinning"), timeouts(3, 3, 2, SPINNING));
        holds(
            &format!("{algorithm}, membarrier refused, one times out"),
            timeouts(2, 2, 1, with(Fences::Refused)),
        );
    }
    holds("central of three, two time out", meet(Algorithm::Central, 3, 1, Event::Timeouts(2), USUAL));
}

#[test]
fn poison_ends_every_wait() {
    for algorithm in [Algorithm::Fbs, Algorithm::Central] {
        let poison = |threads, episodes, variant| meet(algorithm, threads, episodes, Event::Poison, variant);
        holds(&format!("{algorithm}, poison in the second episode"), poison(2, 2, USUAL));
        holds(&format!("{algorithm} of three, poison"), poison(3, 1, USUAL));
        holds(&format!("{algorithm} of three, poison, spinning"), poison(3, 3, SPINNING));
    }
}

#[test]
fn fork_and_join() {
    let whole_life = [Deed::Call(2), Deed::Run(1), Deed::Part, Deed::Dismiss];
    holds("a worker, from its first call to its dismissal", follow(&whole_life, 1, USUAL));
    let runs = [Deed::Have(2), Deed::Run(1), Deed::Run(2), Deed::Run(3)];
    holds("a worker, 3 runs", follow(&runs, 1, USUAL));
    holds("a worker, 2 runs, full fences", follow(&runs[..3], 1, with(Fences::Full)));
    holds("two workers, 1 run", follow(&[Deed::Have(3), Deed::Run(1)], 2, USUAL));
    for runs_before in 0..3 {
        holds("two workers, after one alone, spinning", follow(&grown(runs_before), 2, SPINNING));
    }
}

/// A team of two that has some runs and grows to three.
fn grown(runs: u8) -> Vec<Deed> {
    let before = (1..=runs).map(Deed::Run);
    [Deed::Call(2)].into_iter().chain(before).chain([Deed::Part, Deed::Call(3), Deed::Run(9)]).collect()
}

/// The smallest barriers with a planted mistake.
fn both(property: &'static str, event: Event, mistake: Mistake) {
    for algorithm in [Algorithm::Fbs, Algorithm::Central] {
        let variant = Variant { mistake: Some(mistake), ..USUAL };
        breaks(&format!("{algorithm}, {mistake:?}"), property, meet(algorithm, 2, 1, event, variant));
    }
}

macro_rules! found {
    ($($mistake:ident: $find:expr,)*) => {
        mod found {
            use super::*;

            $(#[test]
            fn $mistake() {
                $find;
            })*
        }
    };
}

found! {
    // The ringer's fence is missing where both would be full ones, or `membarrier` where the ringer counts on it: what
    // is left is the same.
    only_the_sleeper_fences_and_itself: unfenced(with(Fences::SleeperAlone)),
    nobody_fences: unfenced(with(Fences::None)),
    membarrier_refused_and_no_limit:
        unfenced(Variant { mistake: Some(Mistake::Unbounded), ..with(Fences::Refused) }),
    look_before_store: both(NOBODY_LOST, Event::None, Mistake::LookBeforeStore),
    seen_after_done: both(NOBODY_LOST, Event::None, Mistake::SeenAfterDone),
    // The ring that takes the sleeper's registration away is one of the episode before.
    seen_after_registered: {
        let variant = Variant { mistake: Some(Mistake::SeenAfterRegistered), ..USUAL };
        for algorithm in [Algorithm::Fbs, Algorithm::Central] {
            let name = format!("{algorithm}, the word is read after the sleeper is registered");
            breaks(&name, NOBODY_LOST, meet(algorithm, 2, 2, Event::None, variant));
        }
    },
    unregistered_sleeper: both(NOBODY_LOST, Event::None, Mistake::Unregistered),
    wake_without_advance: both(NOBODY_LOST, Event::None, Mistake::NoAdvance),
    interrupt_after_wake: both(NOBODY_LOST, Event::Poison, Mistake::InterruptAfterWake),
    counted_again: {
        let variant = Variant { mistake: Some(Mistake::CountAgain), ..USUAL };
        let machine = meet(Algorithm::Central, 2, 1, Event::Timeouts(1), variant);
        breaks("counted again after a timeout", NOBODY_EARLY, machine);
    },
    two_numbers: {
        let variant = Variant { mistake: Some(Mistake::TwoNumbers), ..SPINNING };
        breaks("two numbers", NOBODY_LOST, meet(Algorithm::Fbs, 2, 2, Event::None, variant));
    },
    last_two_do_not_see_each_other: {
        let variant = Variant { mistake: Some(Mistake::UnfencedLast), ..USUAL };
        breaks("no fence before the look at all", NOBODY_LOST, meet(Algorithm::Fbs, 3, 1, Event::Timeouts(2), variant));
    },
    done_flag_reset_by_worker: {
        let variant = Variant { mistake: Some(Mistake::WorkerResetsDone), ..SPINNING };
        breaks("a worker resets its done flag", NOBODY_EARLY, follow(&grown(0), 2, variant));
    },
}

fn unfenced(variant: Variant) {
    for algorithm in [Algorithm::Fbs, Algorithm::Central] {
        let name = format!("{algorithm}, {:?}, {:?}", variant.fences, variant.mistake);
        breaks(&name, NOBODY_LOST, meet(algorithm, 2, 1, Event::None, variant));
    }
}
