//! One pair over time, as a line of bars.

use std::io::{self, Write};

use coho_profile::{Timeline, order};

use crate::report::text;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const WIDTH: usize = 72;

/// Writes the modes, the changes and a line of bars over time.
pub fn write(out: &mut impl Write, timeline: &Timeline) -> io::Result<()> {
    let seconds = timeline.samples.last().map_or(0.0, |sample| sample.at_s);
    let samples = text::count(timeline.samples.len(), "sample");
    writeln!(out, "CPUs {} and {}: {samples} in {seconds:.1} s", timeline.a, timeline.b)?;
    let times: Vec<f64> = timeline.samples.iter().map(|sample| sample.ns).collect();
    writeln!(out, "{}", bars(&times))?;
    for mode in &timeline.modes {
        writeln!(out, "{:>10} ns, {:.0} % of the time", text::number(mode.value), mode.share * 100.0)?;
    }
    match &timeline.change_points_s[..] {
        [] if timeline.kept_to_one_value().is_none() => {
            writeln!(out, "Too few samples to tell whether it changes.")
        }
        [] => writeln!(out, "It did not change for good in that time."),
        changes => {
            let at: Vec<_> = changes.iter().map(|at| format!("{at:.1} s")).collect();
            writeln!(out, "It changed for good at {}.", at.join(", "))
        }
    }
}

/// Heights between the least and the largest median, on a logarithmic scale, over slices of the time.
pub(super) fn bars(times: &[f64]) -> String {
    let slice = times.len().div_ceil(WIDTH).max(1);
    let medians: Vec<f64> = times.chunks(slice).map(|slice| order::median_of(&mut slice.to_vec())).collect();
    let (least, most) =
        medians.iter().fold((f64::INFINITY, 0.0f64), |(least, most), &ns| (least.min(ns), most.max(ns)));
    // What differs by less than half is drawn as noise is: low.
    let scale = (most / least).max(1.5).ln();
    medians
        .iter()
        .map(|ns| {
            BARS[(((ns / least).ln() / scale * (BARS.len() - 1) as f64).round() as usize).min(BARS.len() - 1)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use coho_profile::{Mode, PairMethod, TimelineSample};

    use super::*;

    #[test]
    fn one_sample_is_not_said_to_stay() {
        let told = |n: u32| {
            let sample = |i| TimelineSample { at_s: f64::from(i) * 0.05, ns: 25.0 };
            let (samples, method) = ((0..n).map(sample).collect(), PairMethod::Turn);
            let modes = vec![Mode { value: 25.0, share: 1.0 }];
            let timeline = Timeline { a: 0, b: 1, method, samples, change_points_s: Vec::new(), modes };
            let mut out = Vec::new();
            write(&mut out, &timeline).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert!(!told(1).contains("did not change") && told(1).contains("Too few samples"), "{}", told(1));
        assert!(told(40).contains("did not change for good in that time"), "{}", told(40));
    }

    #[test]
    fn bars_show_a_jump_and_fit_a_page() {
        let jump: Vec<f64> = (0..1200).map(|i| if i < 600 { 25.0 } else { 100.0 }).collect();
        let drawn = bars(&jump);
        assert!(drawn.chars().count() <= WIDTH);
        assert!(drawn.starts_with('▁') && drawn.ends_with('█'));
        assert_eq!(bars(&[30.0, 30.1]), "▁▁");
        assert_eq!(bars(&[]), "");
    }
}
