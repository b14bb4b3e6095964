//! What the profiles mean, at the head of the page.

use coho_model::{Finding, Urgency, findings};
use maud::{Markup, html};

use super::subject::Subject;
use super::text;

/// Stands where findings would.
pub const NONE: &str = "Nothing follows from the figures of this profile beyond doubt.";

/// The findings of each profile, the most urgent first.
pub fn section(subjects: &[Subject]) -> Markup {
    html! {
        section id="findings" aria-label="Findings" {
            @for subject in subjects {
                @if subjects.len() > 1 { h2 { (text::short(&subject.label, 80)) } }
                @let found = findings(&subject.profile);
                @if found.is_empty() {
                    p.missing { (NONE) }
                } @else {
                    ul { @for finding in &found { (item(finding)) } }
                }
            }
        }
    }
}

fn item(finding: &Finding) -> Markup {
    let (class, word) = match finding.urgency {
        Urgency::Warning => ("warning", "Warning"),
        Urgency::Advice => ("advice", "Advice"),
        Urgency::Note => ("note-finding", "Note"),
    };
    html! {
        li class=(class) data-finding=(finding.id) title=(word) {
            b { (text::tame(&finding.text)) }
            small { (text::tame(&finding.condition)) }
            @if !finding.next.is_empty() { span { (with_code(&text::tame(&finding.next))) } }
        }
    }
}

/// Text whose parts in backticks are commands.
fn with_code(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
