//! Many machines: their surveys as rows of one table, groups of equal machines, and what is odd within a group.
//!
//! A survey becomes a [`Surveyed`], whose [`Row`]s belong into a table of any size. A [`Fleet`] keeps of each only the
//! figures by which machines are told apart ([`Quantity::headline`](coho_profile::Quantity::headline)), and so need not
//! hold the profiles. Nothing here knows a section by name.

mod baseline;
mod change;
mod check;
mod facts;
mod gathered;
mod group;
mod learn;
mod limits;
mod modes;
mod names;
mod outlier;
mod report;
mod robust;
mod row;
mod surveyed;
#[cfg(test)]
mod tests;

pub use baseline::Baseline;
pub use change::{Change, Drift};
pub use check::{Checked, CheckedFigure, Checker, Verdict};
pub use facts::{FACTS, GROUPED};
pub use gathered::Fleet;
pub use group::Group;
pub use limits::{Differing, GroupLimits, Limits, NoLimits, Place};
pub use outlier::{Outlier, Value};
pub use report::{Distribution, Latest, MissingHost, Note, Report, Skipped};
pub use row::{Row, rows};
pub use surveyed::Surveyed;
