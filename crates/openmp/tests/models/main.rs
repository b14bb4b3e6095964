//! Model checks: the same source as in the library, on loom's primitives.

#![allow(dead_code)]

#[path = "../../src/task/bell.rs"]
mod bell;
#[path = "../../src/task/both.rs"]
mod both;
#[path = "../../src/cancel/gathering.rs"]
mod gathering;
#[path = "../../src/task/reduction.rs"]
mod reduction;
mod sync;

mod events;
mod gatherings;
mod reductions;

fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(model);
}
