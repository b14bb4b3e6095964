//! How fast a stage moves data, by the size of the transfer.

use coho_profile::Ns;

/// A stage's rate by size.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    shape: Shape,
    /// What the rate is multiplied by, each factor from a size on.
    factors: Vec<Factor>,
    /// Whether its sizes are those of whole messages: a fragment then moves at its message's rate.
    by_message: bool,
}

/// Multiplies a rate from a size on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Factor {
    pub times: f64,
    pub from_bytes: f64,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    /// L / (start + L / rate): what an engine with a start-up time reaches.
    StartUp { start: Ns, bytes_per_s: f64 },
    /// Points by ascending size; between them the logarithm of the rate is linear in that of the size.
    Table(Vec<(f64, f64)>),
}

impl Rate {
    /// The same rate at every size, in bytes per second.
    ///
    /// ```
    /// # use coho_profile::Ns;
    /// assert_eq!(coho_model::path::Rate::constant(1e9).time(512.0), Ns(512.0));
    /// ```
    pub fn constant(bytes_per_s: f64) -> Self {
        Self::start_up(Ns::ZERO, bytes_per_s)
    }

    /// The rate of an engine that takes `start` before it moves `bytes_per_s`.
    pub fn start_up(start: Ns, bytes_per_s: f64) -> Self {
        Self { shape: Shape::StartUp { start, bytes_per_s }, factors: Vec::new(), by_message: false }
    }

    /// A rate measured at several sizes: (bytes, bytes per second). Beyond them the nearest point counts.
    pub fn table(mut points: Vec<(f64, f64)>) -> Self {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup_by(|later, first| later.0 == first.0);
        Self { shape: Shape::Table(points), factors: Vec::new(), by_message: false }
    }

    /// The same rate, by the size of whole messages, whatever their fragments.
    pub(super) fn of_messages(self) -> Self {
        Self { by_message: true, ..self }
    }

    /// Time of a fragment of a message.
    pub(super) fn time_of_fragment(&self, fragment: f64, bytes: f64) -> Ns {
        match self.by_message && bytes > 0.0 {
            true => self.time(bytes) * fragment / bytes,
            false => self.time(fragment),
        }
    }

    /// The same rate, multiplied by these factors.
    pub(super) fn with(mut self, factors: Vec<Factor>) -> Self {
        self.factors = factors;
        self
    }

    /// Time of `bytes`.
    pub fn time(&self, bytes: f64) -> Ns {
        if bytes <= 0.0 {
            return Ns::ZERO;
        }
        let time = match &self.shape {
            Shape::StartUp { start, bytes_per_s } => *start + Ns::of_bytes(bytes, *bytes_per_s),
            Shape::Table(points) => Ns::of_bytes(bytes, interpolate(points, bytes)),
        };
        let factors = self.factors.iter().filter(|factor| bytes >= factor.from_bytes);
        time / factors.map(|factor| factor.times).product::<f64>()
    }

    /// The rate for `bytes`, in bytes per second.
    pub fn bytes_per_s(&self, bytes: f64) -> f64 {
        self.time(bytes).bytes_per_s(bytes)
    }

    /// The smallest size at which a table was measured; `None` for a rate that is the same everywhere.
    pub(super) fn least_bytes(&self) -> Option<f64> {
        match &self.shape {
            Shape::Table(points) => points.first().map(|point| point.0),
            Shape::StartUp { .. } => None,
        }
    }

    /// Sizes at which the rate has a corner or jumps; between them its time is smooth.
    pub(super) fn corners(&self) -> impl Iterator<Item = f64> + '_ {
        let points = match &self.shape {
            Shape::Table(points) => points.as_slice(),
            Shape::StartUp { .. } => &[],
        };
        points.iter().map(|point| point.0).chain(self.factors.iter().map(|factor| factor.from_bytes))
    }
}

fn interpolate(points: &[(f64, f64)], bytes: f64) -> f64 {
    let after = points.partition_point(|point| point.0 <= bytes);
    let (Some(&below), Some(&above)) =
        (after.checked_sub(1).and_then(|at| points.get(at)), points.get(after))
    else {
        return points[after.min(points.len() - 1)].1;
    };
    let share = (bytes / below.0).ln() / (above.0 / below.0).ln();
    below.1 * (above.1 / below.1).powf(share)
}
