//! What time alone tells of calls against what performance counters count, where there are any.

use coho_probe::calls::{Options, Set, agreement};

/// Prints each quantity that both know.
pub fn run(quick: bool) {
    println!("Calls by time alone against performance counters");
    let effort = if quick { Options::quick() } else { Options::default() };
    match agreement(&Options { sets: vec![Set::Syscalls], ..effort }, &mut |_| ()) {
        Ok(quantities) => quantities.iter().for_each(|quantity| println!("  {quantity}")),
        Err(why) => println!("  {why}"),
    }
    println!();
}
