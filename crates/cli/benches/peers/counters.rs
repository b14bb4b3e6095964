//! Table 4 of Shimosawa, Hori & Ishikawa in one run: what reading a counter costs with coho, the kernel, PAPI and
//! LIKWID.

use crate::section::{self, median, shown};

/// Prints the table.
pub fn run() {
    println!("Reading a performance counter: one run, tools in turn");
    let found = match section::of(&["counters"]) {
        Ok(found) => found,
        Err(why) => return println!("  not available: {why}\n"),
    };
    println!("  {:<32} {:>8} {:>10} {:>10} {:>8}", "", "ns", "user INS", "kern. INS", "entries");
    for tool in found["tools"].as_array().into_iter().flatten() {
        println!(
            "  {:<32} {:>8} {:>10} {:>10} {:>8}",
            tool["name"].as_str().unwrap_or_default(),
            shown(median(&tool["ns"])),
            shown(median(&tool["user"]["INS"])),
            shown(median(&tool["kernel"]["INS"])),
            shown(tool["kernel_entries"].as_f64()),
        );
    }
    let instructions = |name: &str| {
        let tools = found["tools"].as_array()?;
        median(&tools.iter().find(|tool| tool["name"] == name)?["user"]["INS"])
    };
    if let (Some(ours), Some(theirs)) = (instructions("user-level read"), instructions("PAPI_read")) {
        println!("  user instructions of a read: coho's over PAPI's {:.3}", ours / theirs);
    }
    if let Some(why) = found["rdpmc"]["note"].as_str() {
        println!("  {why}");
    }
    println!();
}
