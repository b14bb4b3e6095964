//! Wall time of telling the topology: coho against lscpu and lstopo, quiet and with every CPU busy.

use crate::turns::{Busy, allowed_cpus, in_turn, median, ratio, ratios};

const COHO: &str = env!("CARGO_BIN_EXE_coho");

/// Prints the table.
pub fn run(quick: bool) {
    println!("Telling the topology (wall time of the command)");
    table("quiet", if quick { 10 } else { 100 });
    let _busy = Busy::on(&allowed_cpus());
    table("a busy loop on each CPU", if quick { 5 } else { 30 });
    println!();
}

fn table(load: &str, rounds: usize) {
    let commands: [&[&str]; 4] = [
        &[COHO, "topology", "--format", "json"],
        &["lscpu"],
        &["lstopo-no-graphics", "--no-io", "--of", "console"],
        &["likwid-topology"],
    ];
    let taken = in_turn(&commands, rounds);
    let ours = taken[0].as_ref().expect("coho runs");
    println!("  {load}, {rounds} turns: coho {:.2} ms", median(ours) * 1e3);
    for (command, taken) in commands.iter().zip(&taken).skip(1) {
        match taken {
            Ok(theirs) => println!(
                "    {:<20} {:8.2} ms   coho takes {} of it",
                command[0],
                median(theirs) * 1e3,
                ratio(&ratios(ours, theirs), commands.len() - 1)
            ),
            Err(why) => println!("    {:<20} not available: {why}", command[0]),
        }
    }
}
