//! The report on profiles: one page of HTML, or charts as SVG files.

mod barriers;
mod boxes;
mod boxes_svg;
mod call_figures;
mod calls;
mod calls_svg;
mod charts;
pub mod classes;
pub mod compare;
mod counters;
mod cpi;
mod encode;
pub mod events;
mod evolution;
pub mod figures;
mod histogram;
mod matrix;
mod memory;
mod memory_figures;
mod memory_tables;
mod page;
mod paper_svg;
mod programs;
mod reads;
mod scale;
mod sections;
mod stability;
pub mod subject;
mod sync_figures;
mod sync_ratios;
mod tables;
pub mod text;
mod workload_figures;
mod workloads;

pub use page::render;
pub use paper_svg::write_all as write_svgs;
