//! `make bench`: coho beside its peers, run in turn, as ratios of medians. Only ratios within one run count.

mod barriers;
mod calls;
mod command;
mod counters;
mod delegation;
mod delegation_calls;
mod delegation_programs;
mod detection;
mod latency;
mod memory;
mod openmp;
mod openmp_clients;
mod openmp_grid;
mod openmp_overhead;
mod openmp_table;
mod pairs;
mod quota;
mod section;
mod share;
mod turns;
mod waiting;
mod workloads;

use openmp_grid::Cell;

fn main() {
    // `cargo test --all-targets` runs benches too; the comparison is for `make bench` alone.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("peers: run by `make bench`");
        return;
    }
    let quick = std::env::args().any(|argument| argument == "--quick");
    println!(
        "Ratios to peers; each row's commands ran in turn. Below 1, coho took less; =: the turns do not tell the ratio from 1 \
         beyond chance, with an allowance for the rows of its table.\n"
    );
    let grid = |cell| move || openmp_grid::run(cell, quick);
    let sections: [(&str, &dyn Fn()); 16] = [
        ("detection", &|| detection::run(quick)),
        ("pairs", &|| pairs::run(quick)),
        ("counters", &counters::run),
        ("calls", &|| calls::run(quick)),
        ("barriers", &|| barriers::run(quick)),
        ("waiting", &|| waiting::run(quick)),
        ("openmp", &|| openmp::run(quick)),
        ("delegation", &|| delegation::run(quick)),
        ("workloads", &|| workloads::run(quick)),
        ("memory", &|| {
            memory::run(quick);
            latency::run(quick);
        }),
        ("share", &|| share::run(quick)),
        ("grid-cpus", &grid(Cell::Cpus)),
        ("grid-twice", &grid(Cell::Twice)),
        ("grid-neighbour", &grid(Cell::Neighbour)),
        ("grid-quota", &grid(Cell::Quota)),
        ("grid-processes", &grid(Cell::Processes)),
    ];
    let named: Vec<_> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        // The command's word for it.
        .map(|name| if name == "delegate" { "delegation".to_owned() } else { name })
        .collect();
    if let Some(unknown) = named.iter().find(|name| sections.iter().all(|(known, _)| known != name)) {
        let known: Vec<_> = sections.iter().map(|(name, _)| *name).collect();
        eprintln!("no section {unknown}: there are {}", known.join(", "));
        std::process::exit(2);
    }
    for (name, run) in sections {
        // The grid takes long, and a quiet machine.
        let is_wanted = if named.is_empty() {
            !name.starts_with("grid-")
        } else {
            named.iter().any(|wanted| wanted == name)
        };
        if is_wanted {
            run();
        }
    }
}
