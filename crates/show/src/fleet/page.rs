//! The report on a fleet as a page.

use coho_model::fleet::Report;
use maud::html;

use super::parts::parts;
use crate::render::html as render;
use crate::words;

/// The page.
pub fn page(report: &Report) -> String {
    let title = format!("coho: {}", words::count(report.machines, "machine"));
    let body = html! {
        header { h1 { (words::count(report.machines, "machine")) } }
        main { section id="fleet" { (render::parts(&parts(report), "fleet")) } }
        footer { p { "Made by coho " (env!("CARGO_PKG_VERSION")) "." } }
    };
    render::document(&title, &body)
}
