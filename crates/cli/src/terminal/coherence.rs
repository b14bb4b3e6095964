//! What sharing costs, for people.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use coho_model::stability;
use coho_profile::{
    Coherence, CoherenceTime, Estimate, Home, LineSpread, LineState, Mode, Pair, PairMethod, Verdict,
    published,
};

use super::table::{table, wrapped};
use super::{Depth, heat_map};
use crate::report::text;
use crate::visible::Paint;

/// Pairs that are still listed one by one.
const LISTED: usize = 12;

/// Writes everything that was found: one CPU, pairs, the paper's tables, reads, classes, verdict.
pub fn write(out: &mut impl Paint, coherence: &Coherence, depth: Depth) -> io::Result<()> {
    singles(out, coherence)?;
    pairs(out, coherence)?;
    times(out, coherence)?;
    reads(out, coherence)?;
    map(out, coherence, depth)?;
    findings(out, coherence)
}

fn singles(out: &mut impl Write, coherence: &Coherence) -> io::Result<()> {
    if coherence.singles.is_empty() {
        return Ok(());
    }
    let all: Vec<_> = coherence.singles.iter().collect();
    let shown = &all[..all.len().min(LISTED)];
    let row = |single: &&coho_profile::Single| {
        let figures = [&single.locked_ns, &single.unlocked_ns].map(text::estimate);
        let [locked, unlocked] = figures;
        [single.cpu.to_string(), text::tame(&single.name), locked, unlocked]
    };
    let rows = shown.iter().map(row).collect();
    writeln!(out, "One CPU alone, ns per increment (Kawabe & Furuya, measurement 1)")?;
    writeln!(out, "{}", table(["CPU", "name", "lock inc", "inc"], 2, rows))?;
    more(out, all.len(), "CPU")
}

fn more(out: &mut impl Write, n: usize, noun: &str) -> io::Result<()> {
    if n > LISTED {
        writeln!(out, "… and {}", text::count(n - LISTED, &format!("more {noun}")))?;
    }
    writeln!(out)
}

fn pairs(out: &mut impl Write, coherence: &Coherence) -> io::Result<()> {
    let listed: BTreeSet<_> = coherence.pairs.iter().map(|pair| (pair.a, pair.b)).collect();
    if let Some(matrix) = &coherence.matrix {
        writeln!(out, "A matrix of {}: too many pairs to list\n", text::count(matrix.cpus(), "CPU"))?;
    }
    if listed.is_empty() {
        return Ok(());
    }
    let shown: BTreeSet<_> = listed.iter().take(LISTED / 2).collect();
    let row = |pair: &Pair| {
        let preempted =
            if pair.preempted_batches > 0 { pair.preempted_batches.to_string() } else { String::new() };
        [
            format!("{}–{}", pair.a, pair.b),
            pair.claimed.as_deref().map_or_else(String::new, text::tame),
            method(pair.method).to_owned(),
            home(pair).to_owned(),
            text::estimate(&pair.ns) + if pair.ns.stable == Some(false) { " !" } else { "" },
            pair.ownership_changes_per_op
                .as_ref()
                .map_or_else(String::new, |changes| text::number(changes.median)),
            preempted,
        ]
    };
    let rows: Vec<_> =
        coherence.pairs.iter().filter(|pair| shown.contains(&(pair.a, pair.b))).map(row).collect();
    writeln!(out, "Pairs on one line, ns a step (turn, flags) or an increment (free-running)")?;
    let header = ["pair", "claimed", "method", "home", "ns (95 %)", "moves", "preempted"];
    writeln!(out, "{}", table(header, 4, rows))?;
    if coherence.pairs.iter().any(|pair| pair.method != PairMethod::Unknown) {
        writeln!(out, "moves: ownership changes per increment; !: did not keep to one value")?;
    }
    if listed.len() > shown.len() {
        writeln!(out, "… and {}", text::count(listed.len() - shown.len(), "more pair"))?;
    }
    writeln!(out)?;
    lines(out, &coherence.pairs)
}

/// How far the time of a pair depends on the line that it shares, where that was measured.
fn lines(out: &mut impl Write, pairs: &[Pair]) -> io::Result<()> {
    let measured: Vec<_> = pairs.iter().filter_map(|pair| Some((pair, pair.lines.as_ref()?))).collect();
    let Some((_, first)) = measured.first() else { return Ok(()) };
    writeln!(out, "Pairs over {}, a step of turn: where 10 to 90 % of the lines lie", counted(first))?;
    for (pair, lines) in measured.iter().take(LISTED) {
        let name = format!("{}–{}, home {}", pair.a, pair.b, home(pair));
        writeln!(out, "  {name:<18} {}", text::line_spread(lines))?;
    }
    if measured.len() > LISTED {
        writeln!(out, "… and {}", text::count(measured.len() - LISTED, "more"))?;
    }
    writeln!(out, "r: correlation of the lines' times in the two halves of the run\n")
}

fn counted(lines: &LineSpread) -> String {
    text::count(usize::try_from(lines.count).unwrap_or(usize::MAX), "line")
}

fn method(method: PairMethod) -> &'static str {
    match method {
        PairMethod::Turn => "turn",
        PairMethod::Flags => "flags",
        PairMethod::FreeRunning => "free-running",
        PairMethod::Unknown => "not told",
    }
}

fn home(pair: &Pair) -> &'static str {
    match pair.home {
        Home::A => "a",
        Home::B => "b",
        Home::Third => "third",
        Home::Unknown => "not told",
    }
}

/// The paper's tables 1 and 2, with its figures beside.
fn times(out: &mut impl Write, coherence: &Coherence) -> io::Result<()> {
    if coherence.coherence_times.is_empty() {
        return Ok(());
    }
    let published = published_times();
    let row = |time: &CoherenceTime| {
        let paper = published.get(&time.class).filter(|_| time.method == PairMethod::FreeRunning);
        [
            text::tame(&time.class),
            method(time.method).to_owned(),
            text::number(time.mean_ns),
            text::number(time.baseline_ns),
            text::with_interval(time.coherence_ns, time.interval_ns),
            time.coherence_cycles.map_or_else(|| "–".to_owned(), text::number),
            paper.cloned().unwrap_or_default(),
        ]
    };
    let rows = coherence.coherence_times.iter().map(row).collect();
    let baselines: BTreeSet<_> =
        coherence.coherence_times.iter().map(|time| text::tame(&time.baseline)).collect();
    let baselines: Vec<_> = baselines.into_iter().collect();
    writeln!(out, "Coherence time by claimed class (Kawabe & Furuya, tables 1 and 2)")?;
    let header = ["class", "method", "mean ns", "less", "ns (95 %)", "cycles", "published ns"];
    writeln!(out, "{}", table(header, 2, rows))?;
    writeln!(
        out,
        "less: {}; published: {}\n",
        baselines.join(", "),
        MACHINES.map(|(_, name)| name).join(", ")
    )
}

/// The paper's machines in the order in which their figures stand side by side.
const MACHINES: [(&str, &str); 2] =
    [("kawabe-furuya/e5620", "Xeon E5620"), ("kawabe-furuya/x7560", "Xeon X7560")];

/// Published coherence times by class, both machines' in one text.
fn published_times() -> BTreeMap<String, String> {
    let mut times: BTreeMap<String, [String; 2]> = BTreeMap::new();
    for (column, (name, _)) in MACHINES.iter().enumerate() {
        let machines = published::read(name).map(|publication| publication.machines).unwrap_or_default();
        for (_, profile) in machines {
            for time in profile.coherence.map(|coherence| coherence.coherence_times).unwrap_or_default() {
                times.entry(time.class).or_default()[column] = text::printed(time.coherence_ns);
            }
        }
    }
    let joined = |figures: [String; 2]| figures.map(|f| if f.is_empty() { "–".into() } else { f }).join(", ");
    times.into_iter().map(|(class, figures)| (class, joined(figures))).collect()
}

fn reads(out: &mut impl Write, coherence: &Coherence) -> io::Result<()> {
    let mut groups: BTreeMap<(u32, u32, bool), Vec<_>> = BTreeMap::new();
    for read in &coherence.reads {
        groups.entry((read.reader, read.owner, read.home == Home::B)).or_default().push(read);
    }
    // One direction and home are enough for a page; the profile has all.
    let mut told = BTreeSet::new();
    groups.retain(|&(reader, owner, _), _| told.insert((reader.min(owner), reader.max(owner))));
    for ((reader, owner, _), reads) in groups.iter().take(LISTED / 3) {
        let states = [
            LineState::Modified,
            LineState::Exclusive,
            LineState::Shared,
            LineState::Owned,
            LineState::Forward,
        ];
        let sizes: BTreeSet<_> = reads.iter().map(|read| read.bytes).collect();
        let figure = |bytes: u64, state: LineState| -> String {
            let found = reads.iter().find(|read| (read.bytes, read.state) == (bytes, state));
            found.map_or_else(|| "–".to_owned(), |read| text::estimate(&read.ns))
        };
        let rows = sizes
            .iter()
            .map(|&bytes| {
                let [m, e, s, o, f] = states.map(|state| figure(bytes, state));
                [text::bytes(bytes), m, e, s, o, f]
            })
            .collect();
        let whose = if reader == owner { "its own lines".to_owned() } else { format!("CPU {owner}'s lines") };
        writeln!(out, "CPU {reader} loads {whose}, ns a load by state (Molka et al.)")?;
        let header = ["buffer", "Modified", "Exclusive", "Shared", "Owned", "Forward"];
        writeln!(out, "{}\n", table(header, 1, rows))?;
    }
    Ok(())
}

/// The pairs of the first method and home, as a map where there are colours, as figures where they are few.
fn map(out: &mut impl Paint, coherence: &Coherence, depth: Depth) -> io::Result<()> {
    let Some(first) = coherence.pairs.first() else { return Ok(()) };
    let cpus = &coherence.cpus;
    let of: BTreeMap<(u32, u32), &Estimate> = coherence
        .pairs
        .iter()
        .filter(|pair| (pair.method, pair.home) == (first.method, first.home))
        .map(|pair| ((pair.a.min(pair.b), pair.a.max(pair.b)), &pair.ns))
        .collect();
    let time = |a: usize, b: usize| of.get(&(cpus[a].min(cpus[b]), cpus[a].max(cpus[b]))).map(|ns| ns.median);
    if depth != Depth::None {
        writeln!(out, "All pairs, {}, ns", method(first.method))?;
        out.paint(&heat_map::draw(cpus, time, depth))?;
        writeln!(out)?;
    } else if (3..=LISTED).contains(&cpus.len()) {
        writeln!(out, "All pairs, {}, ns", method(first.method))?;
        for (a, cpu) in cpus.iter().enumerate() {
            write!(out, "{cpu:>5}")?;
            for b in 0..a {
                write!(out, " {:>5}", time(a, b).map_or_else(|| "–".to_owned(), text::number))?;
            }
            writeln!(out)?;
        }
        write!(out, "{:5}", "")?;
        cpus.iter().take(cpus.len() - 1).try_for_each(|cpu| write!(out, " {cpu:>5}"))?;
        writeln!(out, "\n")?;
    }
    Ok(())
}

/// Writes what follows from the figures: classes, levels, verdict, contradictions, and what is missing.
pub fn findings(out: &mut impl Write, coherence: &Coherence) -> io::Result<()> {
    for class in &coherence.classes {
        let cycles = class.cycles.map_or_else(String::new, |cycles| format!(", {cycles:.0} cycles"));
        let pairs = text::count(class.pairs as usize, "pair");
        writeln!(out, "{:<10} {} ns{cycles}; {pairs}", text::tame(&class.name), text::estimate(&class.ns))?;
        if class.ns.modes.len() > 1 {
            let mode = |mode: &Mode| format!("{} ns ({:.0} %)", text::number(mode.value), mode.share * 100.0);
            let modes: Vec<_> = class.ns.modes.iter().map(mode).collect();
            writeln!(out, "           jumps between {}", modes.join(" and "))?;
        }
    }
    for (index, level) in coherence.levels.iter().enumerate() {
        let groups = text::count(level.groups.len(), "group");
        let across = text::number(level.min_across_ns);
        let inside = text::number(level.max_inside_ns);
        writeln!(out, "level {}    {groups}: up to {inside} ns inside, from {across} ns across", index + 1)?;
    }
    if let Some(verdict) = coherence.verdict {
        let words = match verdict {
            Verdict::Hops => "hops: CPUs form groups that are near within and far across",
            Verdict::Flat if coherence.is_one_pair() => "flat: one pair, with none to compare it with",
            Verdict::Flat => "flat: all pairs are alike",
            Verdict::HomeBiased => "home-biased: the times depend on where the line lives",
            Verdict::Unstable => "unstable: the figures jumped during the run",
        };
        writeln!(out, "verdict    {words}")?;
    }
    if let Some((words, watched)) = kept(coherence) {
        writeln!(out, "{}", wrapped(words, &watched))?;
    }
    if coherence.contradictions.as_ref().is_some_and(Vec::is_empty) {
        let words = match coherence.is_one_pair() {
            true => "not checked: one pair alone cannot tell near from far",
            false => "no figure contradicts the claimed topology",
        };
        writeln!(out, "claims     {words}")?;
    }
    for contradiction in coherence.contradictions.iter().flatten() {
        let (claim, figures) = (text::tame(&contradiction.claim), text::tame(&contradiction.figures));
        writeln!(out, "claimed: {claim}; measured: {figures}")?;
    }
    for note in &coherence.notes {
        writeln!(out, "{}", wrapped("note: ", &text::tame(note)))?;
    }
    for (what, why) in &coherence.method.not_available {
        let told = format!("{}: {}", text::tame(what), text::reason(why));
        writeln!(out, "{}", wrapped("not available: ", &told))?;
    }
    if coherence.method.interrupted {
        writeln!(out, "Stopped before its end; what was measured is above.")?;
    }
    Ok(())
}

/// Whether the figures kept to their values, and how long that was looked at.
fn kept(coherence: &Coherence) -> Option<(&'static str, String)> {
    let watched = stability::watched(coherence)?;
    let told = match (coherence.stable, stability::kept(coherence)) {
        (Some(false), _) => format!("not all kept to one value {watched}"),
        (_, Some(kept)) => format!("{kept}, {watched}"),
        (_, None) => format!("too few samples to tell whether they keep to one value: {watched}"),
    };
    Some(("stable     ", told))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_figures_stand_beside_the_classes() {
        let published = published_times();
        assert_eq!(published.get("on-die").map(String::as_str), Some("27.40, 25.59"));
        assert_eq!(published.get("2-hop").map(String::as_str), Some("–, 292.33"));
    }

    #[test]
    fn lines_are_told_to_differ_only_where_both_halves_agree() {
        let matrix = coho_model::Matrix::parse_csv("\n25\n").unwrap();
        let mut coherence = coho_model::coherence_from_matrix(&matrix);
        let told = |coherence: &Coherence| {
            let mut out = Vec::new();
            write(&mut out, coherence, Depth::None).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert!(!told(&coherence).contains("r:"), "a matrix has no lines");
        let lines =
            |split_half| LineSpread { count: 64, p10: 24.4, p50: 27.6, p90: 30.3, split_half, share: None };
        for (split_half, words) in [
            (Some(0.97), "24.4–30.3 ns, r 0.97: lines differ"),
            (Some(-0.12), "24.4–30.3 ns, r −0.12: noise"),
            (None, "24.4–30.3 ns: noise"),
        ] {
            coherence.pairs[0].lines = Some(lines(split_half));
            let text = told(&coherence);
            assert!(text.contains(words) && text.contains("64 lines"), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }

    #[test]
    fn a_matrix_of_unknown_origin_is_told_within_a_page() {
        let matrix = coho_model::Matrix::parse_csv("\n25\n90,92\n91,93,26\n").unwrap();
        let coherence = coho_model::coherence_from_matrix(&matrix);
        let mut out = Vec::new();
        write(&mut out, &coherence, Depth::None).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("verdict    hops") && text.contains("2 groups"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
