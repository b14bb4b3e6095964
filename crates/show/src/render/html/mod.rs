//! Parts on a page: one file that fetches nothing and can be read without scripts.

mod count;
mod parts;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use count::Shown;
pub use parts::{caption, drawn, finding, parts, summary_counts, text};

use crate::visible::{Style, visible};

/// Nothing is fetched and no form sent, whatever a profile brings: the browser enforces it.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// What the page names as its generator.
const GENERATOR: &str = "coho";
/// The mark stands among the first bytes.
const HEAD_BYTES: u64 = 4096;

/// Whether a file is a page that [`document`] made.
pub fn is_report(file: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(file).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    let mark = format!("content=\"{GENERATOR}\"");
    read.is_ok() && String::from_utf8_lossy(&head).contains(&mark)
}

/// A whole document around its body. The root element says how many words and charts are seen before anything is
/// unfolded.
pub fn document(title: &str, body: &Markup) -> String {
    let body = visible(&body.0, Style::Plain).into_owned();
    let shown = Shown::of(&body);
    let page = html! {
        (DOCTYPE)
        html lang="en" data-words=(shown.words) data-charts=(shown.charts) {
            head {
                meta charset="utf-8";
                meta name="generator" content=(GENERATOR);
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (visible(title, Style::Plain)) }
                style { (PreEscaped(include_str!("page.css"))) }
            }
            body {
                (PreEscaped(body))
                script { (PreEscaped(include_str!("page.js"))) }
            }
        }
    };
    page.into_string()
}
