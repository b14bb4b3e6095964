//! Small texts that coho, the kernel or another program wrote, the first byte says which: the history of surveys, pairs of
//! bytes and times, control groups with their mounts, UnixBench's reports.
#![no_main]

use std::path::Path;

use coho_model::{history, path};
use coho_platform::cgroup::Groups;
use coho_workloads::unixbench::Report;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Some((kind, text)) = text.split_at_checked(1) else { return };
    match kind {
        "h" => drop(history::Log::parse(text)),
        "p" => {
            if let Ok(pairs) = path::parse_pairs("pairs.csv", text) {
                let _ = path::fit(&pairs);
            }
        }
        "c" => {
            let (groups, mounts) = text.split_once("\n\n").unwrap_or((text, ""));
            let _ = Groups::parse(groups, mounts, Path::new("/nonexistent"));
        }
        "u" => drop(Report::parse(text)),
        _ => {}
    }
});
