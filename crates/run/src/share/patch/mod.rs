//! The change to a declaration that separates what different threads touch: as a diff of the source file where that is
//! at hand, or else as the declaration that debugging information has.

mod declared;
mod diff;
mod source;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::Path;

use coho_profile::SharePart;

use super::symbols::{Declared, Kind, Language, Shape, Variable};

/// More is not read of a source file.
const LARGEST: u64 = 16 << 20;

/// What `patch` skips before a diff.
const BY_MALLOC: &str =
    "/* malloc aligns to 16 bytes: allocate this by aligned_alloc, or by new from C++17 on. */\n";

/// What is to begin on a line of its own.
#[derive(Debug, Clone, PartialEq)]
enum Change<'a> {
    /// A global.
    Global(&'a Variable),
    /// The field at this place of a structure.
    Field(&'a Kind, usize),
    /// Elements of an array that have no fields.
    Elements(&'a Variable, &'a Kind),
}

/// The change that separates the parts of a line, each with the global that it is in and how far into it; `None` if
/// none is known.
pub(super) fn patch(parts: &[(&SharePart, &Variable, u64)]) -> Option<String> {
    let language = parts.first()?.1.language;
    let changes = changes(parts);
    if changes.is_empty() || language == Language::Other {
        return None;
    }
    let text = of_sources(&changes, language).or_else(|| declared::text(&changes, language))?;
    let is_by_malloc =
        parts.iter().any(|(_, variable, _)| variable.is_allocated) && language != Language::Rust;
    Some(if is_by_malloc { format!("{BY_MALLOC}{text}") } else { text })
}

/// The first of each two parts between which a line has to end, and what begins behind it.
fn changes<'a>(parts: &[(&SharePart, &'a Variable, u64)]) -> Vec<Change<'a>> {
    let mut changes: Vec<Change<'a>> = Vec::new();
    let mut together: Vec<&SharePart> = Vec::new();
    for (at, &(part, variable, into)) in parts.iter().enumerate() {
        if together.iter().any(|other| conflict(other, part)) {
            together.clear();
            let (_, before, before_into) = parts[at - 1];
            let change = match before.start == variable.start {
                true => apart(variable, &variable.kind, [before_into, into], !variable.is_allocated),
                false => Some(Change::Global(variable)),
            };
            changes.extend(change.filter(|change| !changes.contains(change)));
        }
        together.push(part);
    }
    changes
}

/// Whether a thread writes one while another touches the other.
fn conflict(one: &SharePart, other: &SharePart) -> bool {
    let writes = |one: &SharePart, other: &SharePart| {
        let mut touching = other.written_by.iter().chain(&other.read_by);
        touching.any(|thread| one.written_by.iter().any(|writer| writer != thread))
    };
    writes(one, other) || writes(other, one)
}

/// What to align so that two places of a global lie on different lines. `is_all` tells whether the kind is that of all of
/// the global: an array within another declaration is not declared anew.
fn apart<'a>(
    variable: &'a Variable,
    kind: &'a Kind,
    [first, second]: [u64; 2],
    is_all: bool,
) -> Option<Change<'a>> {
    match &kind.shape {
        Shape::Whole => None,
        Shape::Fields(fields) => {
            let place = |into: u64| fields.iter().rposition(|field| field.offset <= into);
            let (one, two) = (place(first)?, place(second)?);
            if one != two {
                return Some(Change::Field(kind, two));
            }
            let field = &fields[one];
            let within = [first, second].map(|into| into - field.offset);
            apart(variable, &field.kind, within, is_all && kind.wrapped().is_some())
        }
        Shape::Elements(element) => {
            let index = |into: u64| into.checked_div(element.bytes);
            if index(first)? == index(second)? {
                return apart(variable, element, [first, second].map(|into| into % element.bytes), false);
            }
            match &element.shape {
                // What begins with an aligned field is aligned, and so long that the next one is as well.
                Shape::Fields(fields) if !fields.is_empty() && element.wrapped().is_none() => {
                    Some(Change::Field(element, 0))
                }
                _ => is_all.then_some(Change::Elements(variable, element)),
            }
        }
    }
}

/// How a declaration that is aligned to a line begins.
fn aligned(language: Language) -> Option<&'static str> {
    match language {
        Language::C => Some("_Alignas(64) "),
        Language::OldC => Some("__attribute__((aligned(64))) "),
        Language::Cpp => Some("alignas(64) "),
        Language::Rust | Language::Other => None,
    }
}

/// The changes to the source files; `None` unless all can be made there.
fn of_sources(changes: &[Change<'_>], language: Language) -> Option<String> {
    let begin = aligned(language)?;
    let mut files = BTreeMap::<&Path, Vec<(&Declared, &str)>>::new();
    for change in changes {
        let (declared, name) = match change {
            Change::Global(variable) => (variable.declared.as_ref()?, &*variable.name),
            Change::Field(Kind { shape: Shape::Fields(fields), .. }, at) => {
                (fields[*at].declared.as_ref()?, &*fields[*at].name)
            }
            Change::Field(..) | Change::Elements(..) => return None,
        };
        files.entry(&declared.file).or_default().push((declared, name));
    }
    let diffs = files.into_iter().map(|(file, edits)| of_source(file, &edits, begin));
    diffs.collect::<Option<Vec<_>>>().map(|diffs| diffs.concat())
}

fn of_source(file: &Path, edits: &[(&Declared, &str)], begin: &str) -> Option<String> {
    let metadata = fs::metadata(file).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let code = source::code_of(&text);
    let place = |(declared, name): &(&Declared, &str)| {
        source::declaration(&code, name, declared.line, declared.column)
    };
    let places = edits.iter().map(place).collect::<Option<BTreeSet<usize>>>()?;
    let mut changed = BTreeMap::<usize, String>::new();
    for at in places.into_iter().rev() {
        let (before, line) = (&text[..at], text[..at].matches('\n').count());
        let column = at - before.rfind('\n').map_or(0, |end| end + 1);
        let new =
            changed.entry(line).or_insert_with(|| text.lines().nth(line).unwrap_or_default().to_owned());
        new.insert_str(column, begin);
    }
    let here = env::current_dir().ok();
    let name = here.and_then(|here| file.strip_prefix(here).ok()).unwrap_or(file);
    Some(diff::unified(&name.to_string_lossy(), &text, &Vec::from_iter(changed)))
}
