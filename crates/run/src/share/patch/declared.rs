//! Changed declarations as debugging information has them, for sources that are not at hand.

use std::fmt::Write;

use super::super::symbols::{Kind, Language, Shape, Variable};
use super::{Change, aligned};

/// What is used in Rust, where fields cannot be aligned by themselves.
const WRAPPER: &str = "#[repr(align(64))]\nstruct Aligned<T>(T);\n\n";

/// The declarations of what changes; `None` if debugging information lacks a name.
pub(super) fn text(changes: &[Change<'_>], language: Language) -> Option<String> {
    let is_rust = language == Language::Rust;
    let mut text = String::from(match is_rust {
        true => "// By debugging information, with each field's offset before the change.\n",
        false => "/* By debugging information, with each field's offset before the change. */\n",
    });
    if is_rust {
        text += WRAPPER;
    }
    let mut told: Vec<&Kind> = Vec::new();
    for change in changes {
        match change {
            Change::Field(kind, _) if told.contains(kind) => {}
            Change::Field(kind, _) => {
                told.push(*kind);
                let of_kind = |change: &Change<'_>| match change {
                    Change::Field(of, at) if of == kind => Some(*at),
                    _ => None,
                };
                structure(
                    &mut text,
                    kind,
                    &changes.iter().filter_map(of_kind).collect::<Vec<_>>(),
                    language,
                )?;
            }
            Change::Global(variable) => {
                let (name, kind) = (&variable.name, type_of(&variable.kind)?);
                line(
                    &mut text,
                    format_args!(
                        "{}",
                        match is_rust {
                            true => format!("static {name}: Aligned<{kind}>"),
                            false => format!("{}{}", aligned(language)?, declarator(&variable.kind, name)?),
                        }
                    ),
                    ";",
                );
            }
            Change::Elements(variable, element) => elements(&mut text, variable, element, language)?,
        }
    }
    Some(text)
}

fn line(text: &mut String, what: impl std::fmt::Display, end: &str) {
    // Writing to a text never fails.
    let _ = writeln!(text, "{what}{end}");
}

fn structure(text: &mut String, kind: &Kind, changed: &[usize], language: Language) -> Option<()> {
    let Shape::Fields(fields) = &kind.shape else { return None };
    let name = if kind.name.is_empty() { String::new() } else { format!("{} ", kind.name) };
    line(text, format_args!("struct {name}{{"), "");
    for (at, field) in fields.iter().enumerate() {
        let offset = field.offset;
        let declared = match (aligned(language), changed.contains(&at)) {
            (None, is_changed) => {
                let kind = type_of(&field.kind)?;
                let kind = if is_changed { format!("Aligned<{kind}>") } else { kind };
                format!("    {}: {kind}, // {offset}", field.name)
            }
            (Some(begin), is_changed) => {
                let begin = if is_changed { begin } else { "" };
                format!("    {begin}{}; /* {offset} */", declarator(&field.kind, &field.name)?)
            }
        };
        line(text, declared, "");
    }
    line(text, "}", if aligned(language).is_some() { ";" } else { "" });
    Some(())
}

/// An array whose elements have no fields that could be aligned.
fn elements(text: &mut String, variable: &Variable, element: &Kind, language: Language) -> Option<()> {
    let (name, kind) = (&variable.name, type_of(element)?);
    let count = variable.bytes.checked_div(element.bytes)?;
    match aligned(language) {
        Some(begin) => {
            line(text, format_args!("/* Each use of {name}[i] becomes {name}[i].value. */"), "");
            line(text, format_args!("struct {{ {begin}{kind} value; }} {name}[{count}]"), ";");
        }
        None => {
            let name = name.rsplit("::").next().unwrap_or(name);
            line(text, format_args!("static {name}: [Aligned<{kind}>; {count}]"), ";");
        }
    }
    Some(())
}

/// `long x[4][2]`.
fn declarator(kind: &Kind, name: &str) -> Option<String> {
    let (mut kind, mut dimensions) = (kind, String::new());
    while let Shape::Elements(element) = &kind.shape {
        dimensions += &format!("[{}]", kind.bytes.checked_div(element.bytes)?);
        kind = element;
    }
    let kind = type_of(kind)?;
    let blank = if kind.ends_with('*') { "" } else { " " };
    Some(format!("{kind}{blank}{name}{dimensions}"))
}

fn type_of(kind: &Kind) -> Option<String> {
    match &kind.shape {
        Shape::Elements(element) => {
            Some(format!("[{}; {}]", type_of(element)?, kind.bytes.checked_div(element.bytes)?))
        }
        Shape::Fields(_) if kind.name.is_empty() => Some("struct { /* … */ }".into()),
        _ => Some(kind.name.clone()).filter(|name| !name.is_empty()),
    }
}
