//! A program under several barriers, for people.

use std::io::{self, Write};

use coho_profile::{Estimate, Kernel};

use super::table::{table, wrapped};
use crate::report::text;

/// Writes the runs, what they conserve, and the model fitted to them.
pub fn write(out: &mut impl Write, kernel: &Kernel) -> io::Result<()> {
    let rows = kernel.points.iter().map(|point| {
        let size = point.length.or(point.size).map_or_else(|| "–".into(), |size| size.to_string());
        let barrier = [point.barrier.as_str(), point.mapping.as_str()].join(" ");
        let gflops = point.gflops.as_ref().map_or_else(|| "–".into(), |rate| format!("{:.2}", rate.median));
        [
            size,
            point.threads.to_string(),
            text::tame(barrier.trim()),
            microseconds(&point.seconds),
            microseconds(&point.sync_seconds),
            gflops,
        ]
    });
    let header = ["size", "threads", "barrier", "us (95 %)", "waiting, us", "GFLOP/s"];
    if !kernel.points.is_empty() {
        writeln!(out, "{}", table(header, 0, rows.collect()))?;
    }
    if let Some(error) = kernel.invariant_error {
        let line = format!("largest relative error of {}: {error:.1e}", text::tame(&kernel.invariant));
        writeln!(out, "{}", wrapped("", &line))?;
    }
    for (name, value) in &kernel.fitted {
        writeln!(out, "fitted {}: {}", text::tame(name), text::number(*value))?;
    }
    for (what, why) in &kernel.method.not_available {
        let line = format!("not available: {}: {}", text::tame(what), text::reason(why));
        writeln!(out, "{}", wrapped("", &line))?;
    }
    if kernel.method.interrupted {
        writeln!(out, "Stopped before its end; what was measured is above.")?;
    }
    Ok(())
}

fn microseconds(seconds: &Option<Estimate>) -> String {
    seconds.as_ref().map_or_else(
        || "–".to_owned(),
        |seconds| {
            let [median, low, high] =
                [seconds.median, seconds.low, seconds.high].map(|seconds| seconds * 1e6);
            text::with_interval(median, Some((low, high)))
        },
    )
}
