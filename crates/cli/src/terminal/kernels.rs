//! A program under several barriers, for people.

use std::io::{self, Write};

use coho_profile::{Estimate, Kernel, KernelPoint};

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
            waiting(point),
            gflops,
        ]
    });
    let header = ["size", "threads", "barrier", "us (95 %)", "waiting", "GFLOP/s"];
    if !kernel.points.is_empty() {
        writeln!(out, "{}", table(header, 0, rows.collect()))?;
    }
    if let Some(error) = kernel.invariant_error {
        let line = format!("largest relative error of {}: {error:.1e}", text::tame(&kernel.invariant));
        writeln!(out, "{}", wrapped("", &line))?;
    }
    for (name, value) in &kernel.fitted {
        let line = format!("fitted {}: {}", text::tame(name), text::number(*value));
        writeln!(out, "{}", wrapped("", &line))?;
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

/// The share of a team's time in which its threads wait.
fn waiting(point: &KernelPoint) -> String {
    let share = |point: &KernelPoint| {
        let (waiting, all) = (point.sync_seconds.as_ref()?.median, point.seconds.as_ref()?.median);
        (point.threads > 1 && all > 0.0).then(|| format!("{:.1} %", 100.0 * waiting / all))
    };
    share(point).unwrap_or_else(|| "–".to_owned())
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
