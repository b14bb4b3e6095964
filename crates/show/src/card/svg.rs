//! Cards as one SVG file, which renders as an image in a page of Markdown: no script, no font from elsewhere, light or dark
//! as the reader's system is.

use maud::{Markup, html};

use super::{Card, Row};
use crate::render::svg::{self, Size};
use crate::visible::{Style, visible};
use crate::words;

/// Between the picture's edge and what stands in it.
const EDGE: f64 = 20.0;
/// The width of a card's figures.
const COLUMN: f64 = 460.0;
/// The room that a map takes.
const MAP: f64 = 310.0;
/// The height of the lines above the figures.
const HEAD: f64 = 112.0;
/// Between one row and the next.
const LINE: f64 = 23.0;

const COLOURS: &str = "svg{color:#1c1e21}.b{fill:#fff;stroke:#d0d7de}.m{fill:#59636e}.r{stroke:#d0d7de}\
    @media(prefers-color-scheme:dark){svg{color:#e6edf3}.b{fill:#0d1117;stroke:#3d444d}.m{fill:#9198a1}.r{stroke:#3d444d}}";

/// Cards side by side: each map right of its figures where there is one card, and above them where there are several.
pub fn svg(cards: &[Card]) -> String {
    let is_alone = cards.len() == 1;
    let rows = cards.iter().map(|card| card.rows.len()).max().unwrap_or(0) as f64 * LINE;
    let (each, height) = match is_alone {
        true => (COLUMN + 2.0 * EDGE + 330.0, HEAD + rows.max(MAP) + 56.0),
        false => (COLUMN + 2.0 * EDGE, HEAD + MAP + rows + 66.0),
    };
    let width = each * cards.len() as f64;
    let title = cards.iter().map(|card| card.machine.as_str()).collect::<Vec<_>>().join(" beside ");
    let drawn = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height)
            role="img" aria-label=(title) font-family="system-ui, sans-serif" font-size="13" fill="currentColor" {
            style { (maud::PreEscaped(COLOURS)) }
            rect.b x="0.5" y="0.5" width=(width - 1.0) height=(height - 1.0) rx="8" {}
            @for (at, card) in cards.iter().enumerate() {
                g transform=(format!("translate({} 0)", at as f64 * each)) {
                    (head(card, each))
                    @if is_alone {
                        (map(card, COLUMN + 2.0 * EDGE + 10.0, HEAD - 8.0))
                        (figures(&card.rows, HEAD + 8.0))
                    } @else {
                        (map(card, EDGE, HEAD - 8.0))
                        (figures(&card.rows, HEAD + MAP + 18.0))
                    }
                    (foot(card, each, height))
                }
            }
        }
    };
    visible(&drawn.0, Style::Xml).into_owned()
}

/// Text that is cut where it would leave its width, at so many pixels a letter.
fn cut(text: &str, width: f64, letter: f64) -> String {
    words::short(text, ((width - 2.0 * EDGE) / letter).max(4.0) as usize)
}

fn head(card: &Card, width: f64) -> Markup {
    let claims = card.claims.as_deref().unwrap_or("no topology read");
    html! {
        text x=(EDGE) y="34" font-size="18" font-weight="600" { (cut(&card.machine, width, 11.5)) }
        text.m x=(EDGE) y="55" { (cut(&card.circumstances.join(" · "), width, 6.8)) }
        text.m x=(EDGE) y="74" { (cut(claims, width, 6.8)) }
        text x=(EDGE) y="94" { "Topology: " (cut(&card.topology, width - 64.0, 6.8)) }
    }
}

fn map(card: &Card, x: f64, y: f64) -> Markup {
    let drawn = card
        .map
        .as_ref()
        .and_then(|map| svg::map(map, 0, map.matrix.orders.len().saturating_sub(1), Size::Small));
    html! {
        @if let Some(drawn) = drawn {
            g transform=(format!("translate({x} {y})")) { (drawn) }
        } @else {
            text.m x=(x) y=(y + 24.0) { "No pair of CPUs was timed." }
        }
    }
}

fn figures(rows: &[Row], top: f64) -> Markup {
    html! { @for (at, row) in rows.iter().enumerate() {
        @let y = top + at as f64 * LINE;
        line.r x1=(EDGE) x2=(EDGE + COLUMN) y1=(y + 7.0) y2=(y + 7.0) {}
        text x=(EDGE) y=(y) { (words::short(&row.what, 44)) }
        text x=(EDGE + COLUMN) y=(y) text-anchor="end" font-weight=[row.figure.as_ref().map(|_| "600")]
            class=[row.figure.is_none().then_some("m")] { (row.text) }
    } }
}

fn foot(card: &Card, width: f64, height: f64) -> Markup {
    let held = match card.held.as_str() {
        "" => String::new(),
        held => format!("Times between CPUs: {held}. "),
    };
    let how = format!("{held}Medians with 95 % intervals in parentheses.");
    let mitigations = format!("Speculation: {}", card.mitigations);
    html! {
        text.m x=(EDGE) y=(height - 28.0) font-size="11" { (cut(&how, width, 5.7)) }
        text.m x=(EDGE) y=(height - 12.0) font-size="11" { (cut(&mitigations, width, 5.7)) }
    }
}
