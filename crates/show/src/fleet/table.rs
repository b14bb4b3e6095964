//! The tables of a fleet: a row for each machine, survey and figure.

use std::io::{self, BufWriter, Write};

use coho_model::fleet::{Row, Surveyed};
use serde::Serialize;

use crate::render::parquet::{Kind, Parquet, Value};
use crate::visible::{Style, visible};

/// A row of the tables. Its fields are a contract for scripts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line<'a> {
    /// What the machine is called.
    pub machine: &'a str,
    /// When it was surveyed; empty if that is not known.
    pub survey: &'a str,
    /// The group that it is in.
    pub group_id: &'a str,
    /// The brand string of its CPU.
    pub cpu: &'a str,
    /// Its kernel's release.
    pub kernel: &'a str,
    /// The figure.
    #[serde(flatten)]
    pub row: &'a Row,
}

/// The columns, as the fields of [`Line`] are called.
const COLUMNS: [(&str, Kind); 13] = [
    ("machine", Kind::Text),
    ("survey", Kind::Text),
    ("group_id", Kind::Text),
    ("cpu", Kind::Text),
    ("kernel", Kind::Text),
    ("key", Kind::Text),
    ("parameters", Kind::Text),
    ("value", Kind::Number),
    ("low", Kind::Number),
    ("high", Kind::Number),
    ("n", Kind::Count),
    ("unit", Kind::Text),
    ("condition", Kind::Text),
];

impl Line<'_> {
    fn values(&self) -> [Value<'_>; 13] {
        let Row { key, parameters, value, low, high, n, unit, condition, .. } = self.row;
        [
            Value::Text(self.machine),
            Value::Text(self.survey),
            Value::Text(self.group_id),
            Value::Text(self.cpu),
            Value::Text(self.kernel),
            Value::Text(key),
            Value::Text(parameters),
            Value::Number(*value),
            Value::Number(*low),
            Value::Number(*high),
            Value::Count(i64::try_from(*n).unwrap_or(i64::MAX)),
            Value::Text(unit),
            Value::Text(condition),
        ]
    }
}

/// The same rows as lines of JSON and as Parquet.
#[derive(Debug)]
pub struct Tables<W: Write> {
    lines: BufWriter<W>,
    parquet: Parquet<W>,
}

impl<W: Write> Tables<W> {
    /// Begins both.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn new(lines: W, parquet: W) -> io::Result<Self> {
        Ok(Self { lines: BufWriter::new(lines), parquet: Parquet::new(parquet, &COLUMNS)? })
    }

    /// Adds all rows of a survey.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn add(&mut self, survey: &Surveyed, group_id: &str) -> io::Result<()> {
        let fact = |name| survey.fact(name).unwrap_or_default();
        let (machine, date) = (survey.machine.as_str(), survey.date.as_deref().unwrap_or_default());
        for row in &survey.rows {
            let line =
                Line { machine, survey: date, group_id, cpu: fact("cpu"), kernel: fact("kernel"), row };
            let text = serde_json::to_string(&line)?;
            self.lines.write_all(visible(&text, Style::Json).as_bytes())?;
            self.lines.write_all(b"\n")?;
            self.parquet.row(&line.values())?;
        }
        Ok(())
    }

    /// Ends both.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish(self) -> io::Result<[W; 2]> {
        let lines = self.lines.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok([lines, self.parquet.finish()?])
    }
}
