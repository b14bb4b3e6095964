//! What every section of a profile says of itself: how it was measured, on which CPUs, and its figures.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::{Estimate, Method, Profile};

/// A section of a profile. What compares, gathers or judges figures walks [`SECTIONS`](crate::SECTIONS) and asks each
/// section by this trait, so that it need not know any by name.
pub trait Section {
    /// How it was measured; `None` for a section that describes the machine, or whose parts have methods of their own.
    fn method(&self) -> Option<&Method> {
        None
    }

    /// The parts that may come from another run than the rest: their names, and how they were measured.
    fn parts(&self) -> Vec<(String, &Method)> {
        Vec::new()
    }

    /// The operating-system numbers of the CPUs that it names, in any order and as often as it names them.
    fn cpus(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        Box::new(std::iter::empty())
    }

    /// Lists its quantities, and the figures that it has of them.
    fn figures<'a>(&'a self, _all: &mut Figures<'a>) {}
}

/// A type of sections with a place of its own in a profile.
pub trait Stored: Section + Clone + Default + PartialEq {
    /// The section's name in the file: `coherence`.
    const NAME: &'static str;

    /// Where it stands in a profile.
    fn place(profile: &mut Profile) -> &mut Option<Self>;
}

/// An entry of [`SECTIONS`](crate::SECTIONS).
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// The section's name in the file: `coherence`.
    pub name: &'static str,
    /// A profile's section of that name.
    pub of: fn(&Profile) -> Option<&dyn Section>,
    /// All quantities that such a section may have figures of.
    pub quantities: fn() -> Vec<&'static Quantity>,
}

impl Listed {
    /// The entry of a type of sections.
    pub(crate) const fn new<S: Section + Default>(
        name: &'static str,
        of: fn(&Profile) -> Option<&dyn Section>,
    ) -> Self {
        let quantities = || {
            let section = S::default();
            let mut all = Figures::default();
            section.figures(&mut all);
            all.quantities
        };
        Self { name, of, quantities }
    }
}

/// Which of two figures of a quantity is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The smaller, as of times.
    Lower,
    /// The greater, as of rates.
    Higher,
    /// Neither: it describes.
    Neither,
}

impl Better {
    /// `lower`, `higher` or `neither`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::Neither => "neither",
        }
    }
}

/// What a figure is of. Figures of equal keys and parameters are the same quantity measured the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    /// Stable for scripts: `sync.barrier`. It begins with the section's name.
    pub key: &'static str,
    /// For people: `time of a barrier`.
    pub label: &'static str,
    /// `ns`, `bytes/s`; empty for ratios and shares.
    pub unit: &'static str,
    /// Which of two figures is better.
    pub better: Better,
    /// Whether machines of a fleet are told apart by it.
    pub headline: bool,
}

impl Quantity {
    const fn new(key: &'static str, label: &'static str, unit: &'static str, better: Better) -> Self {
        Self { key, label, unit, better, headline: false }
    }
}

/// One figure of a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure<'a> {
    /// What it is of.
    pub quantity: &'static Quantity,
    /// What distinguishes it from the section's other figures of that quantity: the fields' names and values in the file,
    /// such as `threads` and `4`. A field without a value is left out.
    pub parameters: Parameters,
    /// The figure, in the quantity's unit.
    pub estimate: Cow<'a, Estimate>,
}

/// Names and values in the order in which they are told.
pub type Parameters = Vec<(&'static str, String)>;

/// The parameters that name CPUs or NUMA nodes: figures that differ in these alone are of one kind.
pub const PLACES: [&str; 10] = ["a", "b", "cpu", "reader", "owner", "caller", "host", "from", "to", "node"];

impl Figure<'_> {
    /// The value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value)
    }
}

/// A growing list of quantities and of figures.
#[derive(Debug, Default)]
pub struct Figures<'a> {
    quantities: Vec<&'static Quantity>,
    figures: Vec<Figure<'a>>,
}

impl<'a> Figures<'a> {
    /// Adds the columns' quantities, and each row's figures of them.
    pub(crate) fn rows<R>(
        &mut self,
        columns: &'static [Column<R>],
        rows: impl IntoIterator<Item = (Parameters, &'a R)>,
    ) {
        self.quantities.extend(columns.iter().map(|column| &column.quantity));
        for (mut parameters, row) in rows {
            parameters.retain(|(_, value)| !value.is_empty());
            let figures = columns.iter().filter_map(|Column { quantity, of }| {
                Some(Figure { quantity, parameters: parameters.clone(), estimate: of(row)? })
            });
            self.figures.extend(figures);
        }
    }

    /// The same of a single row, which needs no parameters.
    pub(crate) fn row<R>(&mut self, columns: &'static [Column<R>], row: &'a R) {
        self.rows(columns, [(Parameters::new(), row)]);
    }

    /// All figures of a profile, in the order of its sections.
    pub(crate) fn of(profile: &'a Profile) -> Vec<Figure<'a>> {
        let mut all = Self::default();
        profile.sections().for_each(|(_, section)| section.figures(&mut all));
        all.figures
    }
}

/// A quantity, and a row's figure of it.
pub(crate) struct Column<R> {
    quantity: Quantity,
    of: fn(&R) -> Option<Cow<'_, Estimate>>,
}

/// Makes the constructors of columns, by which figure is better.
macro_rules! constructors {
    ($($name:ident: $better:ident,)+) => {$(
        pub(crate) const fn $name<R>(
            key: &'static str,
            label: &'static str,
            unit: &'static str,
            of: fn(&R) -> Option<Cow<'_, Estimate>>,
        ) -> Column<R> {
            Column { quantity: Quantity::new(key, label, unit, Better::$better), of }
        }
    )+};
}
constructors! {
    lower: Lower,
    higher: Higher,
    neither: Neither,
}

impl<R> Column<R> {
    pub(crate) const fn headline(mut self) -> Self {
        self.quantity.headline = true;
        self
    }
}

/// A field's estimate, if it has one.
pub(crate) fn given(field: &Option<Estimate>) -> Option<Cow<'_, Estimate>> {
    field.as_ref().map(Cow::Borrowed)
}

/// A field's estimate.
#[allow(clippy::unnecessary_wraps)]
pub(crate) fn always(field: &Estimate) -> Option<Cow<'_, Estimate>> {
    Some(Cow::Borrowed(field))
}

/// A field's single value, if it has one.
pub(crate) fn single<'a>(field: Option<f64>) -> Option<Cow<'a, Estimate>> {
    field.map(|value| Cow::Owned(Estimate::exact(value)))
}

/// A parameter as it stands in the file; empty for `null`.
pub(crate) fn text(field: &impl Serialize) -> String {
    match serde_json::to_value(field) {
        Ok(Value::String(text)) => text,
        Ok(Value::Null) | Err(_) => String::new(),
        Ok(other) => other.to_string(),
    }
}

/// Fields of a row as a figure's parameters.
macro_rules! parameters {
    ($row:expr; $($field:ident),+ $(,)?) => {
        vec![$((stringify!($field), $crate::section::text(&$row.$field))),+]
    };
}
pub(crate) use parameters;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::{Profile, SECTIONS, published};

    #[test]
    fn keys_are_unique_and_begin_with_their_sections_names() {
        let mut keys = BTreeSet::new();
        for section in SECTIONS {
            for quantity in (section.quantities)() {
                let key = quantity.key;
                assert!(key.starts_with(&format!("{}.", section.name)), "{key} in {}", section.name);
                assert!(keys.insert(key), "{key} twice");
                let is_plain = |text: &str| !text.is_empty() && !text.contains(['\t', '\n']);
                assert!(is_plain(key) && is_plain(quantity.label), "{key}");
            }
        }
    }

    #[test]
    fn published_figures_are_of_listed_quantities_and_told_apart_by_their_parameters() {
        let listed: Vec<_> = SECTIONS.iter().flat_map(|section| (section.quantities)()).collect();
        let mut published: Vec<Profile> = Vec::new();
        for paper in published::PAPERS.iter() {
            published.extend(paper.publication().machines.into_iter().map(|(_, profile)| profile));
        }
        for profile in &published {
            let figures = profile.figures();
            let is_matrix = profile.coherence.as_ref().is_some_and(|coherence| coherence.matrix.is_some());
            assert!(!figures.is_empty() || is_matrix);
            let mut seen = BTreeSet::new();
            for figure in &figures {
                assert!(listed.contains(&figure.quantity), "{}", figure.quantity.key);
                let is_new = seen.insert((figure.quantity.key, &figure.parameters));
                assert!(is_new, "{} {:?} twice", figure.quantity.key, figure.parameters);
            }
        }
    }
}
