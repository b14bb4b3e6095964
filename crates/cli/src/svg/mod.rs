//! Charts as SVG, for papers and pages.

pub mod lines;
