//! One survey, as far as a fleet keeps or lists it.

use std::hash::{DefaultHasher, Hash, Hasher};

use coho_profile::Profile;

use super::facts::{self, FACTS};
use super::row::{Row, rows};
use crate::{Urgency, findings};

/// What a profile brings to a fleet.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// What the machine is called.
    pub machine: String,
    /// The file.
    pub file: String,
    /// When it was measured, as `2026-11-24T22:00:48Z`; `None` if the profile gives no such date.
    pub date: Option<String>,
    /// What each of [`FACTS`] is.
    pub facts: Vec<Option<String>>,
    /// All figures.
    pub rows: Vec<Row>,
    /// What is not as it seems: the kinds of findings that warn, and their sentences.
    pub warnings: Vec<(&'static str, String)>,
}

impl Surveyed {
    /// Of a profile from this file, of a machine of that name.
    pub fn of(machine: impl Into<String>, file: impl Into<String>, profile: &Profile) -> Self {
        let date = profile.host.as_ref().and_then(|host| host.date.clone());
        let warnings = findings(profile).into_iter().filter(|one| one.urgency == Urgency::Warning);
        let sentence = |text: String, brief: String| if brief.is_empty() { text } else { brief };
        Self {
            machine: machine.into(),
            file: file.into(),
            date: date.filter(|date| is_date(date)),
            facts: facts::of(profile),
            rows: rows(profile),
            warnings: warnings.map(|one| (one.id, sentence(one.text, one.brief))).collect(),
        }
    }

    /// A fact by its name.
    pub fn fact(&self, name: &str) -> Option<&str> {
        let at = FACTS.iter().position(|(known, _)| *known == name)?;
        self.facts.get(at)?.as_deref()
    }

    /// Seconds from 1970 to its date.
    pub fn seconds(&self) -> Option<i64> {
        // Days are counted from March, so that a leap day is the last of its year.
        let number = |at: std::ops::Range<usize>| self.date.as_deref()?.get(at)?.parse::<i64>().ok();
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
        Some(((days * 24 + number(11..13)?) * 60 + number(14..16)?) * 60 + number(17..19)?)
    }

    /// What to call the group of machines that are equal in these facts: eight letters that are the same in every report.
    pub fn group(&self, by: &[&str]) -> String {
        group_id(by.iter().map(|name| self.fact(name).unwrap_or_default()))
    }

    /// The same of two copies of one survey, whatever they are called; `None` if it has no figure to know it by.
    pub(super) fn fingerprint(&self) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        self.date.hash(&mut hasher);
        let measured = self.rows.iter().filter(|row| row.n > 1);
        measured.clone().for_each(|row| {
            (row.key, &row.parameters, row.value.to_bits()).hash(&mut hasher);
        });
        measured.clone().next().map(|_| hasher.finish())
    }
}

/// The name of a group, by the facts in which it is equal.
pub(super) fn group_id<'a>(facts: impl Iterator<Item = &'a str>) -> String {
    // FNV-1a: the same in every version.
    let bytes = facts.flat_map(|fact| fact.bytes().chain([0]));
    let sum = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{:08x}", sum >> 32)
}

/// Whether this is a date and time as profiles have it: `2026-11-24T22:00:48Z`, perhaps with parts of a second.
pub(super) fn is_date(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let (Some(head), Some(tail)) = (text.as_bytes().get(..SHAPE.len()), text.as_bytes().get(SHAPE.len()..))
    else {
        return false;
    };
    let fits = |(byte, shape): (&u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
    let is_rest = |tail: &[u8]| match tail {
        [b'Z'] => true,
        [b'.', digits @ .., b'Z'] => digits.len() < 10 && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    head.iter().zip(SHAPE).all(fits) && is_rest(tail) && is_of_calendar(text)
}

/// Whether there is such a day and time, as whoever reads the tables expects of a time stamp.
fn is_of_calendar(text: &str) -> bool {
    let number = |at: std::ops::Range<usize>| text[at].parse::<u32>().unwrap_or(u32::MAX);
    let (year, month) = (number(0..4), number(5..7));
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    year > 0
        && (1..=days).contains(&number(8..10))
        && number(11..13) < 24
        && number(14..16) < 60
        && number(17..19) < 60
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_seconds_of_the_calendar() {
        for (date, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-28T23:59:59Z", 951_782_399),
            ("2024-02-29T00:00:00Z", 1_709_164_800),
            ("2100-01-01T00:00:00Z", 4_102_444_800),
        ] {
            let host = coho_profile::Host { date: Some(date.into()), ..Default::default() };
            let profile = Profile { host: Some(host), ..Profile::default() };
            assert_eq!(Surveyed::of("", "", &profile).seconds(), Some(seconds), "{date}");
        }
        assert_eq!(Surveyed::of("", "", &Profile::default()).seconds(), None);
    }

    #[test]
    fn only_dates_are_dates() {
        assert!(is_date("2026-11-24T22:00:48Z") && is_date("2026-11-24T22:00:48.25Z"));
        assert!(is_date("2024-02-29T23:59:59Z") && is_date("2000-02-29T00:00:00Z"));
        for text in [
            "",
            "yesterday",
            "2026-11-24",
            "2026-11-24T22:00:48",
            "2026-11-24T22:00:48Z\u{1b}[2J",
            "é026-11-24T22:00:48Z",
            "9999-99-99T99:99:99Z",
            "2026-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-11-24T24:00:00Z",
            "2026-11-24T22:60:00Z",
        ] {
            assert!(!is_date(text), "{text}");
        }
    }
}
