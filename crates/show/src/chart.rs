//! What is drawn: lines, bars and points over axes; maps of times between CPUs; boxes within boxes.

use crate::boxes::Node;
pub use crate::colour::Colour;
use crate::figure::Figure;
pub use crate::matrix::Matrix;

/// Lines, bars or points over axes.
#[derive(Debug, Clone)]
#[must_use]
pub struct Chart {
    /// Stable, for files and anchors: `barriers`.
    pub id: String,
    /// What it shows, for those who do not see it, and as its name in a list: `Barriers by number of threads`.
    pub title: String,
    /// What the marks mean and how the figures were measured: sentences below the chart.
    pub caption: String,
    pub x: Axis,
    pub y: Axis,
    pub plot: Plot,
    pub marks: Vec<Mark>,
    /// Whether it is one value over time, of which even a terminal can show the course.
    pub over_time: bool,
}

impl Chart {
    /// A chart without marks or a caption yet.
    pub fn new(id: impl Into<String>, title: impl Into<String>, x: Axis, y: Axis, plot: Plot) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            caption: String::new(),
            x,
            y,
            plot,
            marks: Vec::new(),
            over_time: false,
        }
    }

    pub fn lines(
        id: impl Into<String>,
        title: impl Into<String>,
        [x, y]: [Axis; 2],
        series: Vec<Series>,
    ) -> Self {
        Self::new(id, title, x, y, Plot::Lines(series))
    }

    /// Bars along an axis of values, in groups of these names.
    pub fn bars(
        id: impl Into<String>,
        title: impl Into<String>,
        values: Axis,
        categories: Vec<String>,
        series: Vec<BarSeries>,
    ) -> Self {
        Self::new(id, title, values, Axis::linear(""), Plot::Bars { categories, series })
    }

    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    pub fn over_time(mut self) -> Self {
        self.over_time = true;
        self
    }

    pub fn marks(mut self, marks: impl IntoIterator<Item = Mark>) -> Self {
        self.marks.extend(marks);
        self
    }
}

/// An axis. It has a title, a unit and ticks, always.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Axis {
    /// With its unit: `time per load, ns`.
    pub title: String,
    pub scale: Scale,
    pub ticks: Ticks,
    /// Whether a linear axis begins at 0; a logarithmic one never does.
    pub from_zero: bool,
}

/// How values become places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart.
    Log,
}

/// How ticks are chosen and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ticks {
    /// Round decimal numbers.
    Decimal,
    /// Sizes in bytes, at powers of two.
    Bytes,
    /// Each value that occurs, as a whole number (numbers of threads); of many some.
    Values,
}

impl Axis {
    /// An axis of values that begins at 0.
    pub fn linear(title: impl Into<String>) -> Self {
        Self { title: title.into(), scale: Scale::Linear, ticks: Ticks::Decimal, from_zero: true }
    }

    pub fn log(title: impl Into<String>) -> Self {
        Self { title: title.into(), scale: Scale::Log, ticks: Ticks::Decimal, from_zero: false }
    }

    pub fn bytes(title: impl Into<String>) -> Self {
        Self { ticks: Ticks::Bytes, ..Self::log(title) }
    }

    /// An axis of numbers of CPUs or threads.
    pub fn counts(title: impl Into<String>) -> Self {
        Self { ticks: Ticks::Values, ..Self::log(title) }
    }

    /// That begins where its values do.
    pub fn tight(mut self) -> Self {
        self.from_zero = false;
        self
    }
}

/// What is drawn over a chart's axes.
#[derive(Debug, Clone)]
pub enum Plot {
    Lines(Vec<Series>),
    /// Groups of bars: a group for each category, in it a bar for each series. The horizontal axis has the values, so that
    /// names stand where they can be read.
    Bars {
        /// The groups' names, from top to bottom.
        categories: Vec<String>,
        /// A bar in each group, where it has one.
        series: Vec<BarSeries>,
    },
    /// How often values lie between two bounds.
    Histogram(Vec<Bin>),
}

/// A line, or points, of one name.
#[derive(Debug, Clone)]
#[must_use]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// The same thing has the same colour in every chart.
    pub colour: Colour,
    pub stroke: Stroke,
    /// From left to right.
    pub points: Vec<Point>,
}

impl Series {
    pub fn new(name: impl Into<String>, colour: Colour, stroke: Stroke) -> Self {
        Self { name: name.into(), colour, stroke, points: Vec::new() }
    }

    /// Gathers points into lines by name. A name's first line gives the colour and stroke; lines keep the order of their
    /// first points.
    pub fn by_name(points: impl IntoIterator<Item = (Self, Point)>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for (line, point) in points {
            match all.iter_mut().find(|known| known.name == line.name) {
                Some(known) => known.points.push(point),
                None => all.push(line.points([point])),
            }
        }
        all
    }

    pub fn points(mut self, points: impl IntoIterator<Item = Point>) -> Self {
        self.points.extend(points);
        self
    }
}

/// How a series is drawn. What was published is dotted, everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// A line through its points.
    Solid,
    /// A broken line through its points: the same thing under another condition.
    Dashed,
    /// A dotted line through hollow points: what was published.
    Published,
    /// Points alone.
    Points,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// Between which its value lies, drawn as a bar.
    pub interval: Option<(f64, f64)>,
    /// Shown when pointed at: `fbs, 8 threads: 412 (398–431) ns`.
    pub hover: String,
}

impl Point {
    /// A value without an interval.
    pub fn exact(x: f64, y: f64, hover: impl Into<String>) -> Self {
        Self { x, y, interval: None, hover: hover.into() }
    }

    /// A figure with its interval. `hover` turns the figure's text into what is shown when pointed at.
    pub fn new(x: f64, figure: impl Into<Figure>, hover: impl FnOnce(&str) -> String) -> Self {
        let Bar { value, interval, hover } = Bar::new(figure, hover);
        Self { x, y: value, interval, hover }
    }
}

/// The bars of one name: the counterpart of [`Series`].
#[derive(Debug, Clone)]
#[must_use]
pub struct BarSeries {
    pub name: String,
    pub colour: Colour,
    /// Whether it was published, rather than measured: hatched.
    pub published: bool,
    /// A bar for each category, `None` where there is none.
    pub bars: Vec<Option<Bar>>,
}

impl BarSeries {
    pub fn new(name: impl Into<String>, colour: Colour, bars: impl IntoIterator<Item = Option<Bar>>) -> Self {
        Self { name: name.into(), colour, published: false, bars: bars.into_iter().collect() }
    }

    pub fn published(mut self, published: bool) -> Self {
        self.published = published;
        self
    }
}

/// What a [`Point`] is on two axes, on one.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    pub value: f64,
    pub interval: Option<(f64, f64)>,
    pub hover: String,
}

impl Bar {
    /// A figure with its interval. `hover` turns the figure's text into what is shown when pointed at.
    pub fn new(figure: impl Into<Figure>, hover: impl FnOnce(&str) -> String) -> Self {
        let figure = figure.into();
        Self { value: figure.value, interval: figure.interval(), hover: hover(&figure.text()) }
    }
}

/// How many values lie between two bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Bin {
    pub from: f64,
    pub to: f64,
    pub count: u64,
    /// What they are: classes have their colours.
    pub colour: Colour,
    pub hover: String,
}

/// A line across the whole chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    pub at: At,
    pub label: String,
    pub colour: Colour,
}

impl Mark {
    pub fn new(at: At, label: impl Into<String>, colour: Colour) -> Self {
        Self { at, label: label.into(), colour }
    }
}

/// Where a mark lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum At {
    /// A vertical line at a value of the horizontal axis.
    X(f64),
    /// A horizontal line at a value of the vertical axis.
    Y(f64),
}

/// Times between CPUs as colours.
#[derive(Debug, Clone)]
pub struct Map {
    /// As a chart's: `heat-map`.
    pub id: String,
    pub title: String,
    pub caption: String,
    /// The times, in one or more views and orders.
    pub matrix: Matrix,
}

/// Boxes within boxes.
#[derive(Debug, Clone)]
pub struct Drawing {
    /// As a chart's: `topology`.
    pub id: String,
    pub title: String,
    pub caption: String,
    /// The outermost boxes.
    pub nodes: Vec<Node>,
}

/// Points, and lines between some of them.
#[derive(Debug, Clone)]
pub struct Graph {
    /// As a chart's: `hop-graph`.
    pub id: String,
    pub title: String,
    pub caption: String,
    /// The points' names.
    pub nodes: Vec<String>,
    pub edges: Vec<Edge>,
}

/// A line between two points.
#[derive(Debug, Clone)]
pub struct Edge {
    /// The points' numbers.
    pub ends: (usize, usize),
    /// Written at the line: `218 ns`.
    pub label: String,
    /// Shown when pointed at.
    pub hover: String,
    /// Whether it is a link; others are drawn dashed.
    pub is_link: bool,
}

impl Graph {
    /// The points that have links, each with those that it is linked with and the lines' labels.
    pub fn linked(&self) -> Vec<(&str, Vec<(&str, &str)>)> {
        let other = |edge: &Edge, node: usize| match edge.ends {
            (a, b) if a == node => Some(b),
            (a, b) if b == node => Some(a),
            _ => None,
        };
        let links = |node: usize| {
            let of_node = self.edges.iter().filter(|edge| edge.is_link);
            let named = of_node
                .filter_map(|edge| Some((self.nodes.get(other(edge, node)?)?.as_str(), edge.label.as_str())));
            named.collect::<Vec<_>>()
        };
        let of_all = self.nodes.iter().enumerate().map(|(number, name)| (name.as_str(), links(number)));
        of_all.filter(|(_, links)| !links.is_empty()).collect()
    }
}
