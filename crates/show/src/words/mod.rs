//! Every name, unit, number format and reason, once.

mod classes;
mod numbers;

use std::collections::BTreeSet;
use std::fmt;

use coho_profile::PairMethod;

pub use classes::{class_of, class_of_pair, class_rank};
pub use coho_topology::size as bytes;
pub(crate) use numbers::beyond;
pub use numbers::{legible, number, plain, printed, ratio, times, within};

use crate::scale;
use crate::visible::on_one_line;

/// Shown where there is no finding.
pub const NO_FINDING: &str = "This profile's figures support no finding beyond doubt.";

/// Shown below the figures of a measurement that a signal or a time limit ended.
pub const STOPPED: &str = "Stopped before its end; what was measured is above.";

/// What a figure of this method is, for captions.
pub fn pair_method_meaning(method: PairMethod) -> &'static str {
    match method {
        PairMethod::Turn => {
            "strict alternation by compare-and-swap on one line: time per step, one ownership transfer each"
        }
        PairMethod::Flags => {
            "strict alternation by plain stores on two lines: time per step, two transfers each"
        }
        PairMethod::FreeRunning => {
            "both CPUs increment one line with the lock prefix as fast as they can (Kawabe & Furuya): time per increment and \
             CPU; many increments may happen in one ownership, so it is not a transfer's time"
        }
        PairMethod::Unknown => "the source does not say what was done",
    }
}

/// A switch's position.
pub fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// An answer.
pub fn yes_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// The least and the greatest of some sizes in bytes: `8 B`, or `220 B to 512 B`.
pub fn span(sizes: impl Iterator<Item = f64>) -> String {
    let (least, greatest) = scale::ends(sizes).unwrap_or_default();
    match least < greatest {
        true => format!("{} to {}", bytes(least as u64), bytes(greatest as u64)),
        false => bytes(greatest as u64),
    }
}

/// `1 level`, `2 levels`.
pub fn count<N: Copy + fmt::Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    match n == N::from(1) || noun.ends_with("L3") {
        true => format!("{n} {noun}"),
        false => format!("{n} {noun}s"),
    }
}

/// Joins the words that are not empty, with `by` between them.
pub fn joined<W: AsRef<str>>(words: impl IntoIterator<Item = W>, by: &str) -> String {
    let words = Vec::from_iter(words);
    let words = words.iter().map(W::as_ref).filter(|word| !word.is_empty());
    words.collect::<Vec<&str>>().join(by)
}

/// A barrier's algorithm, with its layout where that is a choice.
pub fn barrier(algorithm: &str, layout: &str) -> String {
    joined([algorithm, layout], ", ")
}

/// CPU numbers as the kernel lists them: `0-3,8`.
pub fn cpus(cpus: &[u32]) -> String {
    let sorted = Vec::from_iter(BTreeSet::from_iter(cpus));
    let runs = sorted.chunk_by(|a, b| a.checked_add(1) == Some(**b)).map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        run => run[0].to_string(),
    });
    runs.collect::<Vec<_>>().join(",")
}

/// Begins with a capital.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Begins in lower case, unless with an abbreviation.
pub fn mid_sentence(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

/// A name that scripts write in lower case, with the capitals of its abbreviations: `MPI over TCP`.
pub fn with_capitals(name: &str) -> String {
    let word = |word| match word {
        "cpus" => "CPUs".to_owned(),
        "dma" | "mpi" | "pmu" => word.to_uppercase(),
        other => other.to_owned(),
    };
    joined(name.split(' ').map(word), " ")
}

/// Why something is missing, for a place that already says that it is.
pub fn reason(why: &str) -> String {
    on_one_line(why.strip_prefix("not available: ").unwrap_or(why))
}

/// On one line, at most this long; a longer text is cut.
pub fn short(text: &str, most: usize) -> String {
    let line = legible(&on_one_line(text)).into_owned();
    if line.chars().count() <= most { line } else { line.chars().take(most - 1).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_a_profile_stays_on_its_line_and_is_cut() {
        assert_eq!((short("abcdef", 4), short("a\nb", 9)), ("abc…".to_owned(), "a b".to_owned()));
        assert_eq!(reason("not available: no\nPMU"), "no PMU");
    }

    #[test]
    fn capitals_of_abbreviations_stay() {
        let words = ["System, libc and MPI calls", "MPI", ""].map(mid_sentence);
        assert_eq!(words, ["system, libc and MPI calls", "MPI", ""]);
        let names = ["mpi over TCP", "pmu", "several callers, away"].map(with_capitals);
        assert_eq!(names, ["MPI over TCP", "PMU", "several callers, away"]);
    }

    #[test]
    fn cpus_are_listed_as_the_kernel_does() {
        assert_eq!((cpus(&[8, 0, 1, 2, 3, 3]), cpus(&[])), ("0-3,8".to_owned(), String::new()));
    }
}
