//! What a publication states about its figures, and whether a path agrees.

use serde::{Deserialize, Serialize};

use super::{Path, Point};

/// How far the ends of a range may lie from the printed ones, which are read off a chart.
const READ_OFF: f64 = 0.0175;

/// A statement about points of a figure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The figure that it is about.
    pub figure: String,
    /// The statement.
    pub text: String,
    /// Only about transfers of this size.
    bytes: Option<f64>,
    /// Only about this instruction.
    instruction: Option<String>,
    /// Only about gaps up to this one.
    gap_ns_up_to: Option<f64>,
    /// About the points that the above leaves out.
    #[serde(default)]
    others: bool,
    gain: Vec<Gain>,
}

/// What is stated of the gain at each point.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Gain {
    Positive,
    Negative,
    NotPositive,
    /// From one share to another.
    Between([f64; 2]),
    /// The least and the greatest of all.
    Spans([f64; 2]),
    /// More than at the same point of another figure.
    MoreThan(String),
    /// Less than at the same point of another figure.
    LessThan(String),
}

/// A statement, and whether the path agrees.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Met {
    /// The reading of the publication, where there are several.
    pub reading: Option<String>,
    /// The figure that it is about.
    pub figure: String,
    /// The statement.
    pub text: String,
    /// Whether the reading agrees.
    pub met: bool,
}

impl Statement {
    /// The figures that it names.
    pub(super) fn figures(&self) -> impl Iterator<Item = &String> {
        let others = self.gain.iter().filter_map(|gain| match gain {
            Gain::MoreThan(figure) | Gain::LessThan(figure) => Some(figure),
            _ => None,
        });
        [&self.figure].into_iter().chain(others)
    }

    fn is_about(&self, point: &Point) -> bool {
        let named = self.bytes.is_none_or(|bytes| bytes == point.bytes)
            && self.instruction.as_ref().is_none_or(|instruction| *instruction == point.instruction)
            && self.gap_ns_up_to.is_none_or(|most| point.gap_ns.0 <= most);
        named != self.others
    }

    fn is_met(&self, path: &Path) -> bool {
        let gains = |figure: &str| -> Vec<f64> {
            let points =
                path.figures.iter().filter(|own| own.name == figure).flat_map(|own| path.points(own));
            points.filter(|point| self.is_about(point)).map(|point| point.gain).collect()
        };
        let own = gains(&self.figure);
        let holds = |gain: &Gain| match gain {
            Gain::Positive => own.iter().all(|gain| *gain > 0.0),
            Gain::Negative => own.iter().all(|gain| *gain < 0.0),
            Gain::NotPositive => own.iter().all(|gain| *gain <= 0.0),
            Gain::Between([least, most]) => own.iter().all(|gain| (*least..=*most).contains(gain)),
            Gain::Spans([least, most]) => {
                let own_least = own.iter().copied().fold(f64::INFINITY, f64::min);
                let own_most = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                (own_least - least).abs() <= READ_OFF && (own_most - most).abs() <= READ_OFF
            }
            Gain::MoreThan(figure) => own.iter().zip(gains(figure)).all(|(own, other)| *own > other),
            Gain::LessThan(figure) => own.iter().zip(gains(figure)).all(|(own, other)| *own < other),
        };
        !own.is_empty() && self.gain.iter().all(holds)
    }
}

impl Path {
    /// The statements about the path's figures, in the order of the file.
    pub fn stated(&self) -> impl Iterator<Item = Met> {
        self.statements.iter().map(|statement| Met {
            reading: self.reading.clone(),
            figure: statement.figure.clone(),
            text: statement.text.clone(),
            met: statement.is_met(self),
        })
    }
}
