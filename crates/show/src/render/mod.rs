//! Renderers. Each knows parts and no section.

pub mod csv;
pub mod html;
pub mod svg;
pub mod terminal;
