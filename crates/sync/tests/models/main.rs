//! Model checks: the same source as in the library, on loom's primitives.

#![allow(dead_code, unused_imports)]

#[path = "../../src/barrier/mod.rs"]
mod barrier;
#[path = "../../src/team/construct.rs"]
mod construct;
#[path = "../../src/error.rs"]
mod error;
#[path = "../../src/team/fork.rs"]
mod fork;
#[path = "../../src/number.rs"]
mod number;
#[path = "../../src/padded.rs"]
mod padded;
#[path = "../../src/team/ranges.rs"]
mod ranges;
#[path = "../../src/rule.rs"]
mod rule;
mod sync;
#[path = "../../src/wait/mod.rs"]
mod wait;
#[path = "../../src/watchdog.rs"]
mod watchdog;

mod barriers;
mod team;

use error::Error;

fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(model);
}
