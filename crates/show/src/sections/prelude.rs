//! What sections are made of, and the words for it: every file of a section begins with these.

pub(super) use super::{Entry, method};
pub(super) use crate::chart::{
    At, Axis, Bar, BarSeries, Bin, Chart, Colour, Drawing, Edge, Graph, Map, Mark, Matrix, Plot, Point,
    Series, Stroke,
};
pub(super) use crate::figure::{Figure, Format};
pub(super) use crate::part::{
    Bodies, Column, Depth, Facts, Missing, Part, PartList, Section, Table, TableOf, Text,
};
pub(super) use crate::scale::distinct;
pub(super) use crate::{Subject, scale, words};
pub(super) use coho_model::signs;
