//! What a test's process reports on standard error, in UnixBench's own form: `COUNT|value|timebase|label`,
//! `TIME|seconds`.

use std::io::{self, Write};

/// A count, its unit of time, and the time that it took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// Loops, or a rate if `timebase_s` is 0.
    pub count: f64,
    /// Seconds of the unit: 1 for lps, 60 for lpm; 0 if the count is already a rate.
    pub timebase_s: f64,
    /// Time that it took, if it reports one; otherwise the starter's own measurement is used.
    pub seconds: Option<f64>,
}

impl Report {
    /// Writes it; allocates nothing.
    pub fn write(&self, out: &mut impl Write, unit: &str) -> io::Result<()> {
        writeln!(out, "COUNT|{:.3}|{}|{unit}", self.count, self.timebase_s)?;
        self.seconds.map_or(Ok(()), |seconds| writeln!(out, "TIME|{seconds:.6}"))
    }

    /// Reads the last report of a text.
    pub fn parse(text: &str) -> Option<Self> {
        let mut counted = None;
        let mut seconds = None;
        for line in text.lines() {
            let mut fields = line.split('|').map(str::trim);
            match fields.next() {
                Some("COUNT") => {
                    let mut number = || fields.next()?.parse::<f64>().ok();
                    counted = number().zip(number()).or(counted);
                }
                Some("TIME") => seconds = fields.next().and_then(|text| text.parse().ok()).or(seconds),
                _ => {}
            }
        }
        let (count, timebase_s) = counted?;
        let seconds = seconds.filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0);
        (count.is_finite() && count > 0.0).then_some(Self { count, timebase_s, seconds })
    }
}

/// The rate of several copies together: the sum of counts over the mean of times, in the unit of the timebase.
pub fn rate(copies: &[(Report, f64)]) -> Option<f64> {
    let timebase = copies.first()?.0.timebase_s;
    let count: f64 = copies.iter().map(|(report, _)| report.count).sum();
    let times = copies.iter().map(|(report, elapsed)| report.seconds.unwrap_or(*elapsed));
    let mean = times.sum::<f64>() / copies.len() as f64;
    Some(if timebase > 0.0 { count / (mean / timebase) } else { count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_report_counts() {
        let text = "noise\nCOUNT|5|1|lps\nCOUNT|7|60|lpm\nTIME|2.5\n";
        let report = Report::parse(text).unwrap();
        assert_eq!(report, Report { count: 7.0, timebase_s: 60.0, seconds: Some(2.5) });
        let mut written = Vec::new();
        report.write(&mut written, "lpm").unwrap();
        assert_eq!(Report::parse(std::str::from_utf8(&written).unwrap()), Some(report));
        for bad in ["", "COUNT|", "COUNT|x|1|lps", "COUNT|0|1|lps", "COUNT|inf|1|lps"] {
            assert_eq!(Report::parse(bad), None, "{bad}");
        }
        assert_eq!(Report::parse("COUNT|5|1|lps\nTIME|0").unwrap().seconds, None);
    }

    #[test]
    fn copies_are_summed_over_their_mean_time() {
        let copy = |count, seconds| (Report { count, timebase_s: 60.0, seconds }, 4.0);
        assert_eq!(rate(&[copy(10.0, Some(2.0)), copy(20.0, None)]), Some(30.0 / (3.0 / 60.0)));
        let kb = Report { count: 100.0, timebase_s: 0.0, seconds: Some(2.0) };
        assert_eq!(rate(&[(kb, 2.0), (kb, 2.0)]), Some(200.0));
        assert_eq!(rate(&[]), None);
    }
}
