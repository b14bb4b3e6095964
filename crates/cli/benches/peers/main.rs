//! `make bench`: coho beside its peers, run in turn, as ratios of medians. Only ratios within one run count.

mod barriers;
mod calls;
mod counters;
mod detection;
mod memory;
mod pairs;
mod section;
mod turns;
mod workloads;

fn main() {
    // `cargo test --all-targets` runs benches too; the comparison is for `make bench` alone.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("peers: run by `make bench`");
        return;
    }
    let quick = std::env::args().any(|argument| argument == "--quick");
    println!("Ratios to peers; each row's commands ran in turn. Below 1: coho is quicker.\n");
    detection::run(quick);
    pairs::run(quick);
    counters::run();
    calls::run(quick);
    barriers::run(quick);
    workloads::run(quick);
    memory::run(quick);
}
