//! What of a machine profile is worth showing, and how it looks.
//!
//! A section of the profile, with the answers that rest on it, becomes a [`Section`](part::Section) of parts; every
//! renderer knows parts only: [`render::terminal`], [`render::html`], [`render::svg`] and `render::csv`. [`compare()`]
//! sets the rows of several profiles side by side by their keys. Nothing here measures or predicts.
#![warn(missing_docs)]

mod boxes;
pub mod card;
mod chart;
mod colour;
mod compare;
mod figure;
pub mod files;
pub mod fleet;
pub mod letters;
mod matrix;
mod page;
pub mod part;
pub mod read;
pub mod render;
mod scale;
pub mod sections;
mod subject;
pub mod summary;
mod table;
#[cfg(test)]
mod testing;
pub mod visible;
pub mod watched;
pub mod words;

pub use compare::nearest::{NearestComparison, compare_nearest};
pub use compare::share::{NoShare, ShareComparison, compare_share};
pub use compare::{Comparison, compare};
pub use page::{page, papers_page};
pub use subject::{Error, Subject};
