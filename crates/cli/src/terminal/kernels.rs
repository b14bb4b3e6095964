//! A program under several barriers, for people.

use std::io::{self, Write};

use coho_profile::{Estimate, Kernel, KernelPoint};

use super::table::{table, wrapped};
use crate::report::programs::{REGION_BESIDE_BARRIERS, constant, has_fork_join};
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
            time(&point.seconds),
            waiting(point),
            gflops,
        ]
    });
    let size = if kernel.points.iter().any(|point| point.length.is_some()) { "length" } else { "size" };
    let header = [size, "threads", "barrier", "time (95 %)", "waiting", "GFLOP/s"];
    if !kernel.points.is_empty() {
        writeln!(out, "{}", table(header, 0, rows.collect()))?;
    }
    if let Some(error) = kernel.invariant_error {
        let line = format!("largest relative error of {}: {error:.1e}", text::tame(&kernel.invariant));
        writeln!(out, "{}", wrapped("", &line))?;
    }
    for (name, value) in &kernel.fitted {
        let (what, figure) = constant(name, *value);
        let told = if figure.is_empty() { what } else { format!("{what}: {figure}") };
        writeln!(out, "{}", wrapped("fitted ", &told))?;
    }
    if has_fork_join(kernel) {
        writeln!(out, "{}", wrapped("", REGION_BESIDE_BARRIERS))?;
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

/// A time in the unit that suits it: loops take from nanoseconds to milliseconds.
fn time(seconds: &Option<Estimate>) -> String {
    let Some(seconds) = seconds else { return "–".to_owned() };
    let (unit, factor) = match seconds.median {
        median if median < 1e-6 => ("ns", 1e9),
        median if median < 1e-3 => ("us", 1e6),
        median if median < 1.0 => ("ms", 1e3),
        _ => ("s", 1.0),
    };
    let [median, low, high] = [seconds.median, seconds.low, seconds.high].map(|seconds| seconds * factor);
    format!("{} {unit}", text::with_interval(median, Some((low, high))))
}

#[cfg(test)]
mod tests {
    use coho_probe::kernels::fit;

    use super::*;

    #[test]
    fn loops_are_told_by_length_and_in_ns_and_constants_in_words() {
        let seconds = Estimate { low: 2.7e-8, high: 2.9e-8, n: 9, ..Estimate::exact(2.8e-8) };
        let point = KernelPoint {
            length: Some(16),
            threads: 2,
            barrier: "fbs".into(),
            seconds: Some(seconds),
            ..KernelPoint::default()
        };
        let mut kernel = Kernel { points: vec![point], ..Kernel::default() };
        kernel.fitted.insert(fit::fork_join("fbs", "sequential", 2), 852.0);
        kernel.fitted.insert(fit::SERIAL.into(), 12.0);
        let mut told = Vec::new();
        write(&mut told, &kernel).unwrap();
        let told = String::from_utf8(told).unwrap();
        assert!(told.contains("length") && !told.contains("size"), "{told}");
        assert!(told.contains("28.0 (27.0–29.0) ns"), "{told}");
        let constant = "fork and join (T_F + T_B), fbs, sequential, 2 threads: 852 ns";
        assert!(told.contains(constant) && !told.contains("_ns"), "{told}");
    }
}
