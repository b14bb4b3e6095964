//! A matrix of times as a map: by half blocks, each line of text shows two rows of points.

use std::fmt::Write;

use super::colours::{Colours, set};
use super::columns;
use crate::colour::{Rgb, of_distance};
use crate::scale;

/// Columns without points: those of the row labels, and some at the right.
const MARGIN: usize = 8;
/// Width of a row's label.
const LABEL: usize = 5;

/// Draws times between CPUs. Many CPUs are folded: a point is then the median of a block of pairs.
pub(super) fn draw(cpus: &[u32], time: impl Fn(usize, usize) -> Option<f64>, colours: Colours) -> String {
    let n = cpus.len();
    let most = columns() - MARGIN;
    let fold = n.div_ceil(most).max(1);
    let points = n.div_ceil(fold);
    // Few CPUs get larger points.
    let zoom = (most / points.max(1)).clamp(1, if points <= 8 { 4 } else { 2 });
    let blocks = fold_matrix(n, fold, &time);
    let all = blocks.iter().flatten().flatten().copied();
    let Some((least, most)) = scale::ends(all).filter(|(least, _)| *least > 0.0) else {
        return String::new();
    };
    let place = |ns: f64| if most > least { (ns / least).ln() / (most / least).ln() } else { 0.5 };
    let colour = |row: usize, column: usize| -> Option<Rgb> {
        blocks.get(row / zoom)?.get(column / zoom).copied().flatten().map(|ns| of_distance(place(ns)))
    };
    let painted = |front, back| set(colours, false, front) + &set(colours, true, back);
    let mut text = String::new();
    let height = points * zoom;
    for line in 0..height.div_ceil(2) {
        let (upper, lower) = (2 * line, 2 * line + 1);
        // A line may hold two CPUs: it bears the first one's number.
        let label = if upper % zoom == 0 { cpus[upper / zoom * fold].to_string() } else { String::new() };
        let _ = write!(text, "{label:>LABEL$} ");
        for column in 0..points * zoom {
            let (above, below) = (colour(upper, column), colour(lower, column));
            text += &match (above, below) {
                (None, None) => "\x1b[0m ".to_owned(),
                (None, below) => painted(below, None) + "▄",
                (above, below) => painted(above, below) + "▀",
            };
        }
        text.push_str("\x1b[0m\n");
    }
    legend(&mut text, least, most, colours);
    if fold > 1 {
        let _ = writeln!(text, "{:LABEL$} a point is the median of {fold} x {fold} pairs", "");
    }
    text
}

fn legend(text: &mut String, least: f64, most: f64, colours: Colours) {
    let _ = write!(text, "{:LABEL$} {least:.0} ns ", "");
    let steps = if most > least { 24 } else { 1 };
    for step in 0..steps {
        let place = if steps > 1 { f64::from(step) / f64::from(steps - 1) } else { 0.5 };
        text.push_str(&set(colours, false, Some(of_distance(place))));
        text.push('█');
    }
    let _ = if most > least { writeln!(text, "\x1b[0m {most:.0} ns") } else { writeln!(text, "\x1b[0m") };
}

/// Medians of blocks of `fold` times `fold` pairs.
fn fold_matrix(n: usize, fold: usize, time: &impl Fn(usize, usize) -> Option<f64>) -> Vec<Vec<Option<f64>>> {
    let points = n.div_ceil(fold);
    let block = |row: usize, column: usize| {
        let rows = row * fold..((row + 1) * fold).min(n);
        let columns = column * fold..((column + 1) * fold).min(n);
        let mut times: Vec<f64> = rows
            .flat_map(|a| columns.clone().map(move |b| (a, b)))
            .filter(|(a, b)| a != b)
            .filter_map(|(a, b)| time(a, b))
            .collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    };
    (0..points).map(|row| (0..points).map(|column| block(row, column)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Width of a line without its escape sequences.
    fn width(line: &str) -> usize {
        let mut parts = line.split("\x1b[");
        let first = parts.next().unwrap_or_default().chars().count();
        first + parts.map(|part| part.split_once('m').unwrap().1.chars().count()).sum::<usize>()
    }

    #[test]
    fn every_size_fits_a_page() {
        for n in [2, 3, 8, 9, 40, 72, 73, 256, 512] {
            let cpus: Vec<u32> = (0..n).collect();
            let time = |a: usize, b: usize| Some(if a / 8 == b / 8 { 20.0 } else { 100.0 });
            for colours in [Colours::Indexed, Colours::True] {
                let map = draw(&cpus, time, colours);
                assert!(map.lines().all(|line| width(line) <= 80), "{n} CPUs");
                assert!(map.lines().count() <= 40, "{n} CPUs");
                if n > 8 {
                    assert!(map.contains("20 ns") && map.contains("100 ns"), "{n} CPUs: {map}");
                }
            }
        }
    }

    #[test]
    fn near_and_far_have_their_colours_and_the_diagonal_none() {
        let map = draw(&[0, 1, 2], |a, b| Some(if a + b == 1 { 10.0 } else { 90.0 }), Colours::True);
        assert!(map.contains("\x1b[38;2;68;1;84m") && map.contains("\x1b[38;2;253;231;37m"), "{map:?}");
        assert!(map.lines().next().unwrap().starts_with("    0 \x1b[0m "), "{map:?}");
        assert_eq!(draw(&[0, 1], |_, _| None, Colours::True), "");
    }
}
