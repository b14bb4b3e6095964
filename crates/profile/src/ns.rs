//! A type for times, so that none is mistaken for a size, a rate or a share.

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use serde::{Deserialize, Serialize};

/// Nanoseconds in a second.
const PER_S: f64 = 1e9;

/// A time, or the difference between two times, in nanoseconds. In JSON it is a plain number.
///
/// ```
/// use coho_profile::Ns;
/// let there_and_back = 2.0 * Ns(109.0);
/// assert_eq!(there_and_back + Ns(32.0), Ns(250.0));
/// assert_eq!(there_and_back / Ns(109.0), 2.0);
/// assert_eq!(Ns::of_s(2.5e-6), Ns(2500.0));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct Ns(pub f64);

impl Ns {
    /// No time at all.
    pub const ZERO: Self = Self(0.0);
    /// Longer than any time.
    pub const INFINITY: Self = Self(f64::INFINITY);

    /// A microsecond.
    pub const US: Self = Self::of_us(1.0);
    /// A millisecond.
    pub const MS: Self = Self::of_ms(1.0);

    /// A time given in microseconds.
    pub const fn of_us(count: f64) -> Self {
        Self(count * 1e3)
    }

    /// A time given in milliseconds.
    pub const fn of_ms(count: f64) -> Self {
        Self(count * 1e6)
    }

    /// A time given in seconds.
    pub const fn of_s(count: f64) -> Self {
        Self(count * PER_S)
    }

    /// How many cycles of a clock pass in this time.
    pub fn cycles(self, clock_ghz: f64) -> f64 {
        self.0 * clock_ghz
    }

    /// How long `bytes` take at a rate.
    ///
    /// ```
    /// assert_eq!(coho_profile::Ns::of_bytes(512.0, 1e9), coho_profile::Ns(512.0));
    /// ```
    pub fn of_bytes(bytes: f64, bytes_per_s: f64) -> Self {
        Self(bytes / bytes_per_s * PER_S)
    }

    /// The rate, in bytes per second, at which `bytes` take this time.
    pub fn bytes_per_s(self, bytes: f64) -> f64 {
        bytes / self.0 * PER_S
    }

    /// The longer of two.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// The shorter of two.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// The absolute value.
    #[must_use]
    pub fn abs(self) -> Self {
        Self(self.0.abs())
    }

    /// Whether it is neither infinite nor NaN.
    pub fn is_finite(self) -> bool {
        self.0.is_finite()
    }

    /// Orders all values, NaN included, as [`f64::total_cmp`] does.
    pub fn total_cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Add for Ns {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Ns {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Ns {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Neg for Ns {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Mul<f64> for Ns {
    type Output = Self;

    fn mul(self, times: f64) -> Self {
        Self(self.0 * times)
    }
}

impl Mul<Ns> for f64 {
    type Output = Ns;

    fn mul(self, time: Ns) -> Ns {
        Ns(self * time.0)
    }
}

impl Div<f64> for Ns {
    type Output = Self;

    fn div(self, parts: f64) -> Self {
        Self(self.0 / parts)
    }
}

/// How many times as long.
impl Div for Ns {
    type Output = f64;

    fn div(self, other: Self) -> f64 {
        self.0 / other.0
    }
}

impl Sum for Ns {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        Self(times.map(|time| time.0).sum())
    }
}
