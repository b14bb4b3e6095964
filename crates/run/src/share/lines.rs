//! From recorded runs to lines as people know them: objects, source lines, costs and fixes.

use std::collections::{BTreeMap, BTreeSet};

use coho_model::share_lines::{
    Code, Count, Files, InFile, LINE, Line, Merged, Object, Part, Run, Touched, costs, merged, why_no_cost,
};
use coho_probe::statistics;
use coho_profile::{ShareCount, ShareFix, ShareKind, ShareLine, SharePart, ShareTotal};

use super::allocated::block;
use super::patch::patch;
use super::symbols::{Language, Symbols, Variable};

/// Source lines that are told of a line.
const MOST_AT: usize = 6;
/// Objects that are named of a line.
const MOST_OBJECTS: usize = 3;
/// Lines that are told.
const MOST_LINES: usize = 100;

/// The recorded runs: of each round one on all CPUs and, unless the program waits by spinning, one on one.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) all: Vec<Run>,
    pub(super) one: Vec<Run>,
}

/// A line with the places whose allocations can be given lines of their own.
pub(super) struct Found {
    pub(super) line: ShareLine,
    /// As [`PAD`](coho_recording::PAD) names them; none if the line's parts cannot be separated so.
    pub(super) sites: BTreeSet<String>,
    /// The instructions that touch it.
    pub(super) code: BTreeMap<InFile, Touched>,
    /// CPU time in seconds at the places from which threads come to it.
    pub(super) near: BTreeMap<InFile, f64>,
}

/// What a line's objects are called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Label {
    object: String,
    bytes: Option<u64>,
}

/// The lines, the dearest first; of those without a cost, the one that is accessed most often.
pub(super) fn lines(recorded: &Recorded, files: &Files, total: &ShareTotal) -> Vec<Found> {
    let mut symbols = Symbols::new(files);
    let mut named = |line: &Line| (label(&mut symbols, &line.objects), line.clone());
    let runs: Vec<Vec<_>> =
        recorded.all.iter().map(|run| run.lines.iter().map(&mut named).collect()).collect();
    let lines = merged(&runs);
    let code: Vec<_> = lines.iter().map(|line| Code { touched: &line.code, near: &line.near }).collect();
    let costs = costs(&recorded.all, &recorded.one, &code);
    let mut lines: Vec<(&Merged<Label>, ShareLine)> = lines
        .iter()
        .zip(costs)
        .map(|(line, costs)| {
            let cost = statistics::estimate(&[costs]);
            let why_not = why_no_cost(cost.as_ref(), total);
            let cost_share = cost.filter(|_| why_not.is_none());
            (line, ShareLine { cost_share, why_not, ..ShareLine::default() })
        })
        .collect();
    let cost = |line: &ShareLine| line.cost_share.as_ref().map_or(0.0, |cost| cost.median);
    lines.sort_by(|(one, its), (other, others)| {
        let by_cost = cost(others).total_cmp(&cost(its));
        by_cost.then_with(|| accesses(other).cmp(&accesses(one)))
    });
    // Debugging information is searched for few.
    lines.truncate(MOST_LINES);
    let found = lines.into_iter().map(|(line, known)| {
        let told = told(&mut symbols, line, known);
        let (code, near) = (line.code.clone(), line.near.clone());
        Found { sites: sites(&symbols, line, told.kind), line: told, code, near }
    });
    found.collect()
}

fn label(symbols: &mut Symbols<'_>, objects: &[Object]) -> Label {
    let named: BTreeSet<(String, Option<u64>)> = objects.iter().map(|object| name(symbols, object)).collect();
    let bytes = match named.first() {
        Some((_, bytes)) if named.iter().all(|(_, other)| other == bytes) => *bytes,
        _ => None,
    };
    let mut names: Vec<String> = named.into_iter().map(|(name, _)| name).collect();
    names.dedup();
    let more = names.len().saturating_sub(MOST_OBJECTS);
    names.truncate(MOST_OBJECTS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Label { object: names.join(", ") + &more, bytes }
}

/// What an object is called, and its size.
fn name(symbols: &mut Symbols<'_>, object: &Object) -> (String, Option<u64>) {
    match object {
        Object::Allocated { frames, bytes, .. } => {
            let site = symbols.site(frames).map(|site| symbols.place(site));
            let site = site.map_or_else(
                || "memory allocated at an unknown place".into(),
                |site| format!("allocated at {site}"),
            );
            (site, Some(*bytes))
        }
        Object::Global(at) => match symbols.variable(*at) {
            Some(variable) => (format!("global {}", variable.name), Some(variable.bytes)),
            None => (data_of(&symbols.file_name(at.file)), None),
        },
        Object::Stack(thread) => (format!("stack of thread {thread}"), None),
        Object::Unknown => ("memory whose allocation was not seen".into(), None),
    }
}

/// Memory of a file, or memory that has only a name, which is in brackets.
fn data_of(file: &str) -> String {
    match file {
        "[heap]" => "the heap, whose allocations were not seen".into(),
        "[Go's heap]" => "Go's heap, whose allocations were not seen".into(),
        _ if file.starts_with('[') => format!("memory {file}"),
        _ => format!("data of {file}"),
    }
}

/// A line with everything but its cost.
fn told(symbols: &mut Symbols<'_>, line: &Merged<Label>, known: ShareLine) -> ShareLine {
    let mut at: Vec<(u64, String)> = Vec::new();
    for (code, touched) in &line.code {
        let place = symbols.place(*code);
        match at.iter_mut().find(|(_, known)| *known == place) {
            Some((times, _)) => *times += touched.times,
            None => at.push((touched.times, place)),
        }
    }
    at.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let seen = Seen { line, block: block(symbols, line) };
    let parts: Vec<SharePart> =
        line.evidence.parts.iter().map(|part| part_of(symbols, &seen, part)).collect();
    let kind = line.evidence.kind();
    let mut told = ShareLine {
        object: line.label.object.clone(),
        bytes: line.label.bytes,
        kind,
        threads: line.threads,
        lines: line.lines,
        at: at.into_iter().map(|(_, place)| place).take(MOST_AT).collect(),
        parts,
        ..known
    };
    told.fix = fix(symbols, &seen, &told);
    told
}

/// A line, and what the allocated block that it lies in holds, if that is known, with the line's beginning in it.
struct Seen<'a> {
    line: &'a Merged<Label>,
    block: Option<(Variable, i64)>,
}

fn part_of(symbols: &mut Symbols<'_>, seen: &Seen<'_>, part: &Part) -> SharePart {
    let variable = variable_of(symbols, seen, part.offset);
    SharePart {
        offset: part.offset,
        bytes: part.bytes,
        name: variable.map(|(variable, offset)| variable.at(offset)).unwrap_or_default(),
        written_by: part.written_by.iter().copied().collect(),
        read_by: part.read_by.iter().copied().collect(),
        counts: part.counts.iter().map(|(thread, count)| counted(*thread, *count)).collect(),
        at: symbols.place(part.code),
    }
}

fn counted(thread: u64, count: Count) -> ShareCount {
    ShareCount { thread, reads: count.reads, writes: count.writes }
}

/// How often a line was accessed, if that was counted.
fn accesses(line: &Merged<Label>) -> u64 {
    let counts = line.evidence.parts.iter().flat_map(|part| part.counts.values());
    counts.fold(0, |all, count| all.saturating_add(count.reads).saturating_add(count.writes))
}

/// The global at an offset of the line whose parts are told, or what the block there holds, and how far into it that is.
fn variable_of(symbols: &mut Symbols<'_>, seen: &Seen<'_>, offset: u64) -> Option<(Variable, u64)> {
    if let Some((variable, start)) = &seen.block {
        let into = u64::try_from(start + offset as i64).ok()?.checked_sub(variable.start)?;
        return (into < variable.kind.bytes).then(|| (variable.clone(), into));
    }
    let at = seen.line.shown.iter().find_map(|object| match object {
        Object::Global(at) => Some(InFile { address: (at.address & !(LINE - 1)) + offset, ..*at }),
        _ => None,
    })?;
    let variable = symbols.variable(at)?;
    let into = at.address - variable.start;
    Some((variable, into))
}

/// What would end the sharing.
fn fix(symbols: &mut Symbols<'_>, seen: &Seen<'_>, told: &ShareLine) -> Option<ShareFix> {
    let line = seen.line;
    if !matches!(told.kind, ShareKind::False | ShareKind::Mixed) {
        return None;
    }
    let mut changed = None;
    let predicted = told.cost_share.clone().filter(|_| told.kind == ShareKind::False);
    let what = if line.allocations > 1 {
        let places: BTreeSet<String> = line
            .objects
            .iter()
            .filter_map(|object| match object {
                Object::Allocated { frames, .. } => {
                    let site = symbols.site(frames)?;
                    Some(symbols.place(site))
                }
                _ => None,
            })
            .collect();
        let places = Vec::from_iter(places).join(" and ");
        format!(
            "give each allocation at {places} lines of its own: align it, and round its size up, to {LINE} bytes"
        )
    } else {
        let [first, second] = apart(&told.parts)?;
        changed = patch_of(symbols, seen, told);
        match variable_of(symbols, seen, first.offset) {
            Some((variable, _)) => of_variable(&variable, first, second) + allocation(&variable),
            None => format!(
                "keep what different threads use at bytes {} and {} of the line {LINE} bytes apart",
                first.offset, second.offset
            ),
        }
    };
    Some(ShareFix { what, saves: predicted, proved: false, patch: changed })
}

/// The declarations to change, if every part is known.
fn patch_of(symbols: &mut Symbols<'_>, seen: &Seen<'_>, told: &ShareLine) -> Option<String> {
    let of = |part: &SharePart| variable_of(symbols, seen, part.offset);
    let variables = told.parts.iter().map(of).collect::<Option<Vec<_>>>()?;
    let parts = told.parts.iter().zip(&variables);
    patch(&parts.map(|(part, (variable, into))| (part, variable, *into)).collect::<Vec<_>>())
}

/// Two parts that different threads touch, one of which is written.
fn apart(parts: &[SharePart]) -> Option<[&SharePart; 2]> {
    let threads = |part: &SharePart| -> BTreeSet<u64> {
        part.written_by.iter().chain(&part.read_by).copied().collect()
    };
    let mut pairs = parts
        .iter()
        .enumerate()
        .flat_map(|(at, first)| parts[at + 1..].iter().map(move |second| [first, second]));
    pairs.find(|[first, second]| {
        threads(first) != threads(second) && !(first.written_by.is_empty() && second.written_by.is_empty())
    })
}

/// What else it takes if the object is allocated: only its compiler knows what alignment its type has.
fn allocation(variable: &Variable) -> &'static str {
    match variable.language {
        _ if !variable.is_allocated => "",
        Language::C | Language::OldC => ", and allocate it by aligned_alloc: malloc aligns to 16 bytes",
        Language::Cpp => {
            ", and allocate it by new, from C++17 on, or by aligned_alloc: malloc aligns to 16 bytes"
        }
        Language::Rust | Language::Other => "",
    }
}

fn of_variable(variable: &Variable, first: &SharePart, second: &SharePart) -> String {
    if !second.name.is_empty() && first.name != second.name && second.name.starts_with(&*variable.name) {
        let stem = |name: &str| name.split('[').next().unwrap_or_default().to_owned();
        if second.name.contains('[') && stem(&first.name) == stem(&second.name) {
            return format!(
                "give each element of `{}` a line of its own: align it to {LINE} bytes",
                stem(&first.name)
            );
        }
        if variable.kind.bytes > 0 {
            return format!(
                "put `{}` and `{}` on different lines: {}",
                first.name,
                second.name,
                match variable.language {
                    Language::Rust => format!("the second in a type with #[repr(align({LINE}))]"),
                    Language::Other => format!("{LINE} bytes between them"),
                    _ => format!("alignas({LINE}) before the second"),
                }
            );
        }
    }
    match second.name.is_empty() || first.name == second.name {
        true => format!("keep what different threads write in `{}` {LINE} bytes apart", variable.name),
        false => format!("align `{}` and `{}` to {LINE} bytes each", first.name, second.name),
    }
}

/// The places whose allocations the preloaded library can give lines of their own.
fn sites(symbols: &Symbols<'_>, line: &Merged<Label>, kind: ShareKind) -> BTreeSet<String> {
    if line.allocations < 2 || kind == ShareKind::True {
        return BTreeSet::new();
    }
    let innermost = line.objects.iter().filter_map(|object| match object {
        Object::Allocated { frames, .. } => frames.first(),
        _ => None,
    });
    let known = innermost.filter(|at| at.file != Files::NONE);
    known.map(|at| format!("{}+{:#x}", symbols.file_name(at.file), at.address)).collect()
}
