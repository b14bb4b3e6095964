//! What there is to show, in a form that every renderer understands: a section is a headline and parts.

use coho_model::Finding;

use crate::chart::{Chart, Drawing, Map};
use crate::figure::Figure;

/// What one experiment (and the answers that rest on it) has to show.
#[derive(Debug, Clone)]
pub struct Section {
    /// Stable, for anchors, files and scripts: `barriers`.
    pub id: &'static str,
    /// For people: `Barriers, fork and join`.
    pub title: &'static str,
    /// One line that says what was found: `321 ns for 2 threads, 2.84 × the limit`; empty if the parts say all.
    pub headline: String,
    /// In the order of reading.
    pub parts: Vec<Part>,
}

impl Section {
    /// A section without parts yet.
    pub fn new(id: &'static str, title: &'static str, headline: impl Into<String>) -> Self {
        Self { id, title, headline: headline.into(), parts: Vec::new() }
    }

    /// Adds what belongs to the summary.
    pub fn summary(&mut self, body: impl Into<Body>) {
        self.parts.summary(body);
    }

    /// Adds what only those want who ask for everything.
    pub fn detail(&mut self, body: impl Into<Body>) {
        self.parts.detail(body);
    }
}

/// A list of parts that grows.
pub trait PartList {
    /// Adds what a reader of this depth wants.
    fn add(&mut self, depth: Depth, body: impl Into<Body>);

    /// Adds what belongs to the summary.
    fn summary(&mut self, body: impl Into<Body>) {
        self.add(Depth::Summary, body);
    }

    /// Adds what only those want who ask for everything.
    fn detail(&mut self, body: impl Into<Body>) {
        self.add(Depth::Detail, body);
    }
}

impl PartList for Vec<Part> {
    fn add(&mut self, depth: Depth, body: impl Into<Body>) {
        self.push(Part { depth, body: body.into() });
    }
}

/// How much of it a reader wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// What most want to know: shown by default.
    #[default]
    Summary,
    /// The rest: with `--full`, or folded on the page.
    Detail,
}

/// One thing to show.
#[derive(Debug, Clone)]
pub struct Part {
    /// Whether it is shown by default.
    pub depth: Depth,
    /// What it is.
    pub body: Body,
}

impl Part {
    /// One that belongs to the summary.
    pub fn summary(body: impl Into<Body>) -> Self {
        Self { depth: Depth::Summary, body: body.into() }
    }
}

/// The kinds of things that can be shown.
#[derive(Debug, Clone)]
pub enum Body {
    /// Rows and columns.
    Table(Table),
    /// Lines, bars or points over axes.
    Chart(Chart),
    /// Times between CPUs as colours.
    Map(Map),
    /// Boxes within boxes.
    Drawing(Drawing),
    /// Names and values.
    Facts(Facts),
    /// A sentence or two.
    Text(Text),
    /// What the figures mean for the reader.
    Finding(Finding),
    /// What was not measured, and why.
    Missing(Missing),
}

macro_rules! body_of {
    ($($kind:ident),+) => {$(
        impl From<$kind> for Body {
            fn from(part: $kind) -> Self {
                Self::$kind(part)
            }
        }
    )+};
}
body_of!(Table, Chart, Map, Drawing, Facts, Text, Finding, Missing);

/// A labelled sentence: on a terminal `verdict    flat: …`, on the page a paragraph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// One word or two that stand before it; empty for none.
    pub label: String,
    /// The sentence. Parts in backticks are commands.
    pub text: String,
}

impl Text {
    /// A sentence without a label.
    pub fn new(text: impl Into<String>) -> Self {
        Self { label: String::new(), text: text.into() }
    }

    /// A sentence behind a label.
    pub fn labelled(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { label: label.into(), text: text.into() }
    }
}

/// What was not measured, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What: `fbs with 4 threads`.
    pub what: String,
    /// The reason, without `not available`.
    pub why: String,
}

impl Missing {
    /// One for each entry of a section's `not_available`.
    pub fn all(
        not_available: &std::collections::BTreeMap<String, String>,
    ) -> impl Iterator<Item = Self> + '_ {
        not_available.iter().map(|(what, why)| Self { what: what.clone(), why: crate::words::reason(why) })
    }
}

/// Names and values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Stable, for scripts and files: `host`.
    pub id: &'static str,
    /// For people; empty where the section's title says it.
    pub title: String,
    /// In the order of reading.
    pub facts: Vec<(String, String)>,
    /// Whether `compare` tells where two profiles differ in them.
    pub compared: bool,
}

/// Rows and columns.
#[derive(Debug, Clone)]
pub struct Table {
    /// Stable, for files: `pairs`.
    pub id: String,
    /// What it tells, with the papers it repeats: `Coherence time by claimed class (Kawabe & Furuya, tables 1 and 2)`.
    pub title: String,
    /// From left to right.
    pub columns: Vec<Column>,
    /// From top to bottom.
    pub rows: Vec<Row>,
    /// What the columns mean, below the table; sentences.
    pub notes: Vec<String>,
}

impl Table {
    /// A table without columns and rows yet.
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Self {
        Self { id: id.into(), title: title.into(), columns: Vec::new(), rows: Vec::new(), notes: Vec::new() }
    }

    /// Whether nothing stands in it: such a table is not shown.
    pub fn is_empty(&self) -> bool {
        let is_nothing = |row: &Row| row.cells.iter().all(|cell| *cell == Cell::Nothing);
        self.rows.iter().all(is_nothing)
    }

    /// With these columns.
    #[must_use]
    pub fn columns(mut self, columns: impl IntoIterator<Item = Column>) -> Self {
        self.columns.extend(columns);
        self
    }

    /// With these rows.
    #[must_use]
    pub fn rows(mut self, rows: impl IntoIterator<Item = Row>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// With a sentence below it.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// For people: `time`.
    pub name: String,
    /// `ns`, `cycles`, `10^6/s`; empty where figures have none or the column is text.
    pub unit: &'static str,
    /// Figures stand at the right.
    pub is_figures: bool,
    /// What a key of [`Row`] ends in for this column's figure, `ns`; `None` if `compare` leaves the column out.
    pub key: Option<&'static str>,
    /// Whether it is shown by default.
    pub depth: Depth,
}

impl Column {
    /// A column of text.
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), unit: "", is_figures: false, key: None, depth: Depth::Summary }
    }

    /// A column of figures.
    pub fn figures(name: impl Into<String>, unit: &'static str) -> Self {
        Self { name: name.into(), unit, is_figures: true, key: None, depth: Depth::Summary }
    }

    /// Whose figures `compare` sets side by side, under the row's key and this ending.
    #[must_use]
    pub fn compared(mut self, key: &'static str) -> Self {
        self.key = Some(key);
        self
    }

    /// Shown only to those who want everything.
    #[must_use]
    pub fn detail(mut self) -> Self {
        self.depth = Depth::Detail;
        self
    }
}

/// A row of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// What its figures are, for `compare`: equal keys are the same quantity measured the same way.
    pub key: Option<Key>,
    /// A cell for each column.
    pub cells: Vec<Cell>,
    /// Whether it is shown by default.
    pub depth: Depth,
}

impl Row {
    /// A row of these cells.
    pub fn new(cells: impl IntoIterator<Item = Cell>) -> Self {
        Self { key: None, cells: cells.into_iter().collect(), depth: Depth::Summary }
    }

    /// With what `compare` knows it by, and how people call it there.
    #[must_use]
    pub fn keyed(mut self, id: impl Into<String>, label: impl Into<String>) -> Self {
        self.key = Some(Key { id: id.into(), label: label.into() });
        self
    }

    /// Shown only to those who want everything.
    #[must_use]
    pub fn detail(mut self) -> Self {
        self.depth = Depth::Detail;
        self
    }
}

/// What a row's figures are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Stable for scripts, less the column's ending: `coherence.free-running.on-die`.
    pub id: String,
    /// For people, where the table's title does not stand above it: `coherence time, on-die, free-running`.
    pub label: String,
}

/// What stands in a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing was measured, or nothing belongs here.
    Nothing,
    /// Text.
    Text(String),
    /// A figure.
    Figure(Figure),
}

impl Cell {
    /// The figure, or nothing.
    pub fn maybe(figure: Option<impl Into<Figure>>) -> Self {
        figure.map_or(Self::Nothing, |figure| Self::Figure(figure.into()))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Figure>> From<T> for Cell {
    fn from(figure: T) -> Self {
        Self::Figure(figure.into())
    }
}
