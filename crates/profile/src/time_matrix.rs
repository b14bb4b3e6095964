//! Times of all pairs in columns, for machines with too many CPUs to list their pairs one by one.

use serde::de::{SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// One time per pair of CPUs, in ns, in 8 bytes. The JSON has the rows of the lower triangle, one per line, the first
/// one empty; `null` where there is no figure.
///
/// ```
/// let matrix = coho_profile::TimeMatrix::new(3, |a, b| (a != 1).then_some((10 * a + b) as f64));
/// assert_eq!((matrix.get(2, 0), matrix.get(0, 2), matrix.get(1, 0)), (Some(20.0), Some(20.0), None));
/// assert_eq!(serde_json::to_string(&matrix).unwrap(), "[[],[null],[20.0,21.0]]");
/// ```
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "Vec<Vec<Option<f64>>>"))]
pub struct TimeMatrix {
    cpus: usize,
    /// The lower triangle row by row; NaN where there is no figure.
    ns: Vec<f64>,
}

impl TimeMatrix {
    /// The most CPUs whose pairs a profile lists one by one.
    pub const MOST_LISTED: usize = 512;

    /// A matrix of the times that `time` returns for each row and column, where the row is the larger.
    pub fn new(cpus: usize, time: impl Fn(usize, usize) -> Option<f64>) -> Self {
        let cells = (0..cpus).flat_map(|row| (0..row).map(move |column| (row, column)));
        let mut ns = Vec::with_capacity(cpus * cpus.saturating_sub(1) / 2);
        ns.extend(cells.map(|(row, column)| time(row, column).unwrap_or(f64::NAN)));
        Self { cpus, ns }
    }

    /// The number of CPUs.
    pub fn cpus(&self) -> usize {
        self.cpus
    }

    /// The time between the CPUs at two positions, in ns, if there is a figure.
    pub fn get(&self, a: usize, b: usize) -> Option<f64> {
        let (row, column) = (a.max(b), a.min(b));
        let ns = *self.ns.get(row * row.saturating_sub(1) / 2 + column).filter(|_| row != column)?;
        (!ns.is_nan()).then_some(ns)
    }

    /// Every pair with a figure: the positions of its CPUs, the larger first, and the time in ns.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let cells = (0..self.cpus).flat_map(|row| (0..row).map(move |column| (row, column)));
        cells.zip(&self.ns).filter(|(_, ns)| !ns.is_nan()).map(|((row, column), &ns)| (row, column, ns))
    }

    fn row(&self, row: usize) -> &[f64] {
        let start = row * row.saturating_sub(1) / 2;
        &self.ns[start..start + row]
    }
}

/// Equal if the same pairs have the same figures.
impl PartialEq for TimeMatrix {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
        self.cpus == other.cpus && self.ns.iter().zip(&other.ns).all(same)
    }
}

impl Serialize for TimeMatrix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.cpus))?;
        for row in 0..self.cpus {
            // Compact, since an indented document would put each time on its own line.
            let cell = |ns: &f64| (!ns.is_nan()).then_some(*ns);
            let cells: Vec<Option<f64>> = self.row(row).iter().map(cell).collect();
            let text = serde_json::to_string(&cells).and_then(RawValue::from_string);
            rows.serialize_element(&text.map_err(serde::ser::Error::custom)?)?;
        }
        rows.end()
    }
}

impl<'de> Deserialize<'de> for TimeMatrix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Rows)
    }
}

struct Rows;

impl<'de> Visitor<'de> for Rows {
    type Value = TimeMatrix;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the rows of a lower triangle")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<TimeMatrix, A::Error> {
        let mut matrix = TimeMatrix::default();
        while let Some(row) = rows.next_element::<Vec<Option<f64>>>()? {
            if row.len() != matrix.cpus {
                return Err(serde::de::Error::invalid_length(row.len(), &self));
            }
            matrix.cpus += 1;
            matrix.ns.extend(row.into_iter().map(|ns| ns.unwrap_or(f64::NAN)));
        }
        Ok(matrix)
    }
}
