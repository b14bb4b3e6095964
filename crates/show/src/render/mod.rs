//! Renderers. Each knows parts and no section.

pub mod csv;
pub mod html;
pub mod openmetrics;
pub mod parquet;
pub mod svg;
pub mod terminal;
