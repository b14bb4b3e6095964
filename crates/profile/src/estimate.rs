//! A measured figure with its interval, modes and stability.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A measured figure: the median of `n` samples with its 95 % interval. The interval takes six samples; with fewer,
/// it is their range. It holds for the next run only if it rests on enough `passes`, and otherwise for its own run. The
/// unit is part of the name of the field that holds the estimate. A number alone is read as [`Estimate::exact`], for files
/// that are written by hand from print.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Median of the samples.
    pub median: f64,
    /// Lower end of the median's 95 % interval; with fewer than six samples, the smallest.
    pub low: f64,
    /// Upper end of the median's 95 % interval; with fewer than six samples, the largest.
    pub high: f64,
    /// Smallest sample.
    pub min: f64,
    /// Number of samples.
    pub n: u64,
    /// Passes of the run that took samples, each with lines of its own where it could; 0 if not known. With three or more,
    /// the interval allows for what differs between passes, and so for the median of a run right after if that differs no
    /// more; with fewer, it holds for this run only.
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub passes: u64,
    /// The values between which the figure jumps, most frequent first; a single one where it does not jump.
    #[serde(default)]
    pub modes: Vec<Mode>,
    /// Whether the samples of all passes agree on one value; `null` with fewer than six samples, which cannot
    /// show it.
    #[serde(default)]
    pub stable: Option<bool>,
}

fn is_unknown(passes: &u64) -> bool {
    *passes == 0
}

impl<'de> Deserialize<'de> for Estimate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NumberOrFields)
    }
}

struct NumberOrFields;

impl<'de> Visitor<'de> for NumberOrFields {
    type Value = Estimate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct Estimate")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Estimate, E> {
        Ok(Estimate::exact(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Estimate, E> {
        Ok(Estimate::exact(value as f64))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Estimate, E> {
        Ok(Estimate::exact(value as f64))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Estimate, A::Error> {
        #[derive(Deserialize)]
        struct Fields {
            median: f64,
            low: f64,
            high: f64,
            min: f64,
            n: u64,
            #[serde(default)]
            passes: u64,
            #[serde(default)]
            modes: Vec<Mode>,
            #[serde(default)]
            stable: Option<bool>,
        }
        let Fields { median, low, high, min, n, passes, modes, stable } =
            Fields::deserialize(MapAccessDeserializer::new(fields))?;
        Ok(Estimate { median, low, high, min, n, passes, modes, stable })
    }
}

/// A value around which samples cluster.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mode {
    /// Median of the mode's samples.
    pub value: f64,
    /// Share of all samples that belong to it, 0 to 1.
    pub share: f64,
}

impl Estimate {
    /// The fewest samples whose range is a 95 % interval of their median: the range of n misses it in 2 of 2^n
    /// cases.
    pub const FEWEST: u64 = 6;

    /// The fewest passes that show how much a figure varies from one to the next.
    pub const FEWEST_PASSES: u64 = 3;

    /// Whether [`low`](Self::low) to [`high`](Self::high) is a 95 % interval. Only such intervals can show that
    /// two figures differ.
    ///
    /// ```
    /// use coho_profile::Estimate;
    /// let of = |n| Estimate { low: 23.1, high: 25.2, n, ..Estimate::exact(24.0) };
    /// assert!(of(6).has_interval() && !of(5).has_interval());
    /// ```
    pub fn has_interval(&self) -> bool {
        self.n >= Self::FEWEST
    }

    /// Whether the interval also holds for the median of a run right after, if runs differ no more than passes do.
    ///
    /// ```
    /// use coho_profile::Estimate;
    /// let of = |passes| Estimate { n: 24, passes, ..Estimate::exact(24.0) };
    /// assert!(of(3).holds_for_next_run() && !of(2).holds_for_next_run());
    /// ```
    pub fn holds_for_next_run(&self) -> bool {
        self.has_interval() && self.passes >= Self::FEWEST_PASSES
    }

    /// The lower end of the median's interval at a confidence above 95 %, as a comparison among several takes it; `None` if
    /// there are too few samples for it. It is the least sample or, of more samples, an approximation from the 95 % interval.
    ///
    /// ```
    /// use coho_profile::Estimate;
    /// let of = |n| Estimate { low: 23.1, min: 22.0, n, ..Estimate::exact(24.0) };
    /// assert_eq!((of(6).low_at(0.99), of(12).low_at(0.999)), (None, Some(22.0)));
    /// assert!(of(40).low_at(0.999).unwrap() < 23.1);
    /// ```
    pub fn low_at(&self, confidence: f64) -> Option<f64> {
        crate::order::low_at(confidence, self.n, [self.min.min(self.low), self.low, self.median])
    }

    /// As [`low_at`](Self::low_at), both ends. The greatest sample is not kept, so the upper end is an approximation, which
    /// is cautious where few samples make the greatest the end.
    ///
    /// ```
    /// use coho_profile::Estimate;
    /// let of = |n| Estimate { low: 23.0, high: 25.0, min: 22.0, n, ..Estimate::exact(24.0) };
    /// assert_eq!((of(6).interval_at(0.95), of(6).interval_at(0.99)), (Some((23.0, 25.0)), None));
    /// let (low, high) = of(40).interval_at(0.999).unwrap();
    /// assert!(low < 23.0 && high > 25.0);
    /// ```
    pub fn interval_at(&self, confidence: f64) -> Option<(f64, f64)> {
        let end = |end: f64| crate::order::end_at(confidence, self.n, [self.median, end], self.low > 0.0);
        // Some figures come without their least sample.
        let low = match self.min < self.low {
            true if confidence > 0.95 => self.low_at(confidence)?,
            _ => end(self.low)?,
        };
        Some((low, end(self.high)?))
    }

    /// Whether the figure keeps to one value: [`stable`](Self::stable). Fewer samples than
    /// [`FEWEST`](Self::FEWEST) cannot show that it does, whatever a file says; a single jump that was seen shows
    /// that it does not.
    pub fn is_known_to_stay(&self) -> Option<bool> {
        self.stable.filter(|stable| !stable || self.has_interval())
    }

    /// A figure from a source that gives neither interval nor repetitions.
    ///
    /// ```
    /// assert_eq!(coho_profile::Estimate::exact(38.5).high, 38.5);
    /// ```
    pub fn exact(value: f64) -> Self {
        let modes = vec![Mode { value, share: 1.0 }];
        Self { median: value, low: value, high: value, min: value, n: 1, passes: 0, modes, stable: None }
    }

    /// Half the interval's width relative to the median, as in "±2 %"; 0 for a median of 0.
    pub fn relative_half_width(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.high - self.low) / 2.0 / self.median.abs() }
    }
}
