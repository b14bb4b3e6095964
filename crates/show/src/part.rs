//! What there is to show, in a form that every renderer understands: a section is a headline and parts.

use std::collections::BTreeMap;

use coho_model::Finding;

use crate::chart::{Chart, Drawing, Graph, Map, Plot};
pub(crate) use crate::table::{Cell, Column, Row, Table, TableOf};
use crate::words;

/// What one experiment (and the answers that rest on it) has to show.
#[derive(Debug, Clone)]
pub struct Section {
    /// Stable, for anchors, files and scripts: `barriers`.
    pub id: &'static str,
    /// For people: `Barriers, fork and join`.
    pub title: &'static str,
    /// One line with the main figures: `321 ns for 2 threads, 2.84 × the limit`; empty if the parts say all.
    pub headline: String,
    /// In the order of reading.
    pub parts: Vec<Part>,
}

impl Section {
    /// A section without parts yet.
    pub fn new(id: &'static str, title: &'static str, headline: impl Into<String>) -> Self {
        Self { id, title, headline: headline.into(), parts: Vec::new() }
    }
}

/// A list of parts that grows.
pub trait PartList {
    /// Adds what a reader of this depth wants; what is empty is left out.
    fn add(&mut self, depth: Depth, bodies: impl Bodies);

    /// Adds what is looked at first.
    fn glance(&mut self, bodies: impl Bodies) {
        self.add(Depth::Glance, bodies);
    }

    /// Adds what belongs to the summary.
    fn summary(&mut self, bodies: impl Bodies) {
        self.add(Depth::Summary, bodies);
    }

    /// Adds what only those want who ask for everything.
    fn detail(&mut self, bodies: impl Bodies) {
        self.add(Depth::Detail, bodies);
    }
}

impl PartList for Section {
    fn add(&mut self, depth: Depth, bodies: impl Bodies) {
        self.parts.add(depth, bodies);
    }
}

impl PartList for Vec<Part> {
    fn add(&mut self, depth: Depth, bodies: impl Bodies) {
        let shown = bodies.bodies().into_iter().filter(|body| !body.is_empty());
        self.extend(shown.map(|body| Part { depth, body }));
    }
}

/// How much of it a reader wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// What is looked at first: also at the head of the page.
    Glance,
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

/// What can be added to a list of parts: a body, or any number of them.
pub trait Bodies {
    /// In the order of reading.
    fn bodies(self) -> Vec<Body>;
}

/// An `Option`, a `Vec`, an array or an iterator of them.
impl<T: IntoIterator<Item: Bodies>> Bodies for T {
    fn bodies(self) -> Vec<Body> {
        self.into_iter().flat_map(Bodies::bodies).collect()
    }
}

impl<T> Bodies for TableOf<T> {
    fn bodies(self) -> Vec<Body> {
        self.done().bodies()
    }
}

impl Body {
    /// Whether there is nothing to show: a table without a figure, a chart without a point.
    fn is_empty(&self) -> bool {
        match self {
            Self::Table(table) => table.is_empty(),
            Self::Chart(chart) => match &chart.plot {
                Plot::Lines(series) => series.iter().all(|one| one.points.is_empty()),
                Plot::Bars { series, .. } => series.iter().all(|one| one.bars.iter().all(Option::is_none)),
                Plot::Histogram(bins) => bins.is_empty(),
            },
            Self::Drawing(drawing) => drawing.nodes.is_empty(),
            Self::Graph(graph) => graph.edges.is_empty(),
            Self::Facts(facts) => facts.facts.is_empty(),
            Self::Text(text) => text.text.is_empty(),
            Self::Map(_) | Self::Finding(_) | Self::Missing(_) => false,
        }
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
    /// Points, and lines between them.
    Graph(Graph),
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

        impl Bodies for $kind {
            fn bodies(self) -> Vec<Body> {
                vec![self.into()]
            }
        }
    )+};
}
body_of!(Table, Chart, Map, Drawing, Graph, Facts, Text, Missing);

impl From<Finding> for Body {
    fn from(finding: Finding) -> Self {
        Self::Finding(finding)
    }
}

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
    /// One thing; `why` may begin with `not available: `.
    pub fn new(what: impl Into<String>, why: &str) -> Self {
        Self { what: what.into(), why: words::reason(why) }
    }

    /// One for each entry of a section's `not_available`.
    pub fn all(not_available: &BTreeMap<String, String>) -> Vec<Self> {
        not_available.iter().map(|(what, why)| Self::new(words::with_capitals(what), why)).collect()
    }

    /// What of several things is missing and why: those that share a reason stand together.
    pub fn by_reason<'a, W: Into<String>>(missing: impl IntoIterator<Item = (W, &'a str)>) -> Vec<Self> {
        let mut reasons = BTreeMap::<&str, Vec<String>>::new();
        for (what, why) in missing {
            reasons.entry(why).or_default().push(what.into());
        }
        reasons.into_iter().map(|(why, whats)| Self::new(whats.join(", "), why)).collect()
    }
}

/// Names and values.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Facts {
    /// Stable, for scripts and files: `host`. Empty for facts that are no file of their own.
    pub id: &'static str,
    /// For people; empty where the section's title says it.
    pub title: String,
    /// In the order of reading.
    pub facts: Vec<(String, String)>,
    /// Whether `compare` says where two profiles differ in them.
    pub compared: bool,
}

impl Facts {
    /// None yet.
    pub fn new(id: &'static str, title: impl Into<String>) -> Self {
        Self { id, title: title.into(), facts: Vec::new(), compared: false }
    }

    /// With those of these facts that are known.
    pub fn facts<N: Into<String>, V: Into<Option<String>>>(
        mut self,
        facts: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let known = |(name, value): (N, V)| Some((name.into(), value.into()?));
        self.facts.extend(facts.into_iter().filter_map(known));
        self
    }

    /// `compare` tells where two profiles differ in them.
    pub fn compared(mut self) -> Self {
        self.compared = true;
        self
    }
}
