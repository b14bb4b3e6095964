//! What it costs CPUs to share a line: classes first, then pairs, reads, and whether all that stays so.

mod classes;
mod distance;
mod hops;
mod pairs;
mod reads;
mod stability;

use coho_model::Verdict;
use coho_model::judge::Judgement;
use coho_model::stability as watched;
use coho_profile::{Coherence, Mode, PairMethod};

use crate::sections::prelude::*;

pub(super) const ENTRY: Entry = Entry { id: "coherence", title: "Sharing a cache line", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let coherence = subject.coherence()?;
    let mut section = ENTRY.section(headline(subject, coherence));
    let judgement = &subject.answers.judgement;
    section.glance(distance::chart(subject));
    classes::add_classes(&mut section, judgement);
    sentences(&mut section, subject, coherence);
    map(&mut section, subject, coherence);
    classes::add_times(&mut section, subject, coherence);
    section.glance(distance::beside_published(subject, coherence));
    if let Some((table, graph)) = hops::parts(subject, coherence) {
        section.summary(graph);
        section.summary(table);
    }
    pairs::add(&mut section, subject, coherence);
    classes::add_histograms(&mut section, subject, coherence);
    reads::add(&mut section, subject, coherence);
    stability::add(&mut section, subject, coherence);
    section.detail(verdict_facts(coherence, judgement));
    method::add(&mut section.parts, "coherence-method", &coherence.method);
    Some(section)
}

/// `25.0 · 99.0 · 213 ns, 3 classes; all 66 times … kept to one value …`.
fn headline(subject: &Subject, coherence: &Coherence) -> String {
    let judgement = &subject.answers.judgement;
    let medians = judgement.classes.iter().take(4).map(|class| words::number(class.ns.median));
    let classes = match (judgement.classes.len(), words::joined(medians, " · ")) {
        (0, _) => String::new(),
        (1, median) => format!("{median} ns"),
        (n, medians) => format!("{medians} ns, {n} classes"),
    };
    let elsewhere = elsewhere(coherence);
    let classes = if elsewhere.is_some() && coherence.is_one_pair() { String::new() } else { classes };
    let stays = match judgement.stable.filter(|_| !subject.published) {
        _ if elsewhere.is_some() => elsewhere.unwrap_or_default(),
        None => String::new(),
        Some(true) => watched::kept(coherence).unwrap_or_default(),
        Some(false) => "not all kept to one value".to_owned(),
    };
    let alone = match &coherence.singles[..] {
        [only] if coherence.times().next().is_none() => format!(
            "one CPU alone, ns: {} a locked increment, {} a plain one",
            words::within(&only.locked_ns),
            words::within(&only.unlocked_ns)
        ),
        _ => String::new(),
    };
    match words::joined([classes, alone, stays], "; ") {
        nothing if nothing.is_empty() => verdict(coherence, judgement).unwrap_or_default(),
        headline => headline,
    }
}

/// The times of a pair that was elsewhere while it was watched.
fn elsewhere(coherence: &Coherence) -> Option<String> {
    let ((a, b), times) = watched::elsewhere(coherence)?;
    Some(format!("CPUs {a} and {b}: {times}"))
}

/// The verdict's name and what it means: `flat: all 66 pairs are alike, 25.0 to 25.4 ns`.
fn verdict(coherence: &Coherence, judgement: &Judgement) -> Option<String> {
    let words = match judgement.verdict? {
        Verdict::Hops => "hops: CPUs form groups, near within a group and far across groups",
        Verdict::Flat if coherence.is_one_pair() => match coherence.cpus.len() {
            2 => "flat: there is only one pair, and none to compare it with",
            _ => "flat: only one pair has a time, and none to compare it with",
        },
        Verdict::Flat => return Some(no_groups(coherence)),
        Verdict::HomeBiased => "home-biased: the times seem to depend on where the line lives",
        Verdict::Unstable => "unstable: the figures did not all keep to one value during the run",
    };
    Some(words.to_owned())
}

/// Times among which no group stands out may be alike, or only scatter.
fn no_groups(coherence: &Coherence) -> String {
    let matrix = coho_model::Matrix::of(coherence);
    let times: Vec<f64> = matrix.iter().flat_map(|matrix| matrix.pairs()).map(|(.., ns)| ns).collect();
    let told = times.iter().copied().filter(|ns| *ns > 0.0);
    let pairs = words::count(told.clone().count(), "pair");
    let Some((low, high)) = scale::ends(told) else {
        return "no groups found: no pair has a time above 0".to_owned();
    };
    let range = format!("{} to {} ns", words::number(low), words::number(high));
    match high <= low * coho_model::LEAST_RATIO {
        true => format!("flat: all {pairs} are alike, {range}"),
        false => format!("no groups found: the times of {pairs} range from {range}"),
    }
}

/// Verdict, stability, what becomes of the claims, and notes.
fn sentences(section: &mut Section, subject: &Subject, coherence: &Coherence) {
    let judgement = &subject.answers.judgement;
    section.summary(verdict(coherence, judgement).map(|words| Text::labelled("verdict", words)));
    if let Some(watched) = watched::watched(coherence).filter(|_| !subject.published) {
        let text = match (judgement.stable, watched::kept(coherence)) {
            (Some(false), _) if watched.starts_with("CPUs") => {
                format!("not all kept to one value: {watched}")
            }
            (Some(false), _) => format!("not all kept to one value {watched}"),
            (_, Some(kept)) => format!("{kept}, {watched}"),
            (_, None) => format!("too few samples to tell whether they keep to one value: {watched}"),
        };
        section.summary(Text::labelled("stable", text));
    }
    if let Some(contradictions) = &judgement.contradictions {
        let number = words::count(contradictions.len(), "wrong claim");
        let what = match (coherence.is_one_pair(), contradictions.is_empty(), judgement.unchecked.is_empty())
        {
            (true, true, _) => "not checked: one pair alone cannot tell near from far".to_owned(),
            (_, true, true) => "no figure contradicts the claimed topology".to_owned(),
            (_, true, false) => "none found wrong, but not all could be checked".to_owned(),
            (_, false, _) => format!("{number} by these figures"),
        };
        section.summary(Text::labelled("claims", what));
        let claims = contradictions.iter();
        let claims = claims.map(|one| format!("claimed: {}; measured: {}", one.claim, one.figures));
        section.summary(claims.map(Text::new));
        let unchecked = judgement.unchecked.iter().filter(|_| !coherence.is_one_pair());
        section.summary(unchecked.map(|what| Text::labelled("not checked:", words::short(what, 500))));
    }
    let notes = judgement.notes.iter();
    section.summary(notes.map(|note| Text::labelled("note:", words::short(note, 500))));
}

/// What the cells of pairs show that a sample left out.
fn others(coherence: &Coherence) -> &'static str {
    match coherence.random_pairs() {
        Some(_) => "; the others have the median of those between the same groups",
        None => "",
    }
}

fn map(section: &mut Section, subject: &Subject, coherence: &Coherence) {
    let Some(matrix) = Matrix::of(subject) else { return };
    let Some(view) = matrix.views.first() else { return };
    let mut caption = format!("{}. ", words::sentence(words::pair_method_meaning(view.method)));
    caption += &match subject.coherence().filter(|_| subject.published).map(Coherence::common_cpu) {
        Some(Some(cpu)) => format!("Pairs of CPU {cpu} only, as published. "),
        Some(None) => format!("{} of {} pairs, as published. ", view.measured, view.ns.len()),
        None if view.measured == view.ns.len() => String::new(),
        None => format!("{} of {} pairs measured{}. ", view.measured, view.ns.len(), others(coherence)),
    };
    if matrix.orders.iter().any(|order| !order.levels.is_empty()) {
        caption += "White lines separate groups, thicker lines wider groups. ";
    }
    if matrix.labels.len() > 2 {
        caption += "Colours are logarithmic, dark is near; the extreme 1 % of times share the end colours. ";
    }
    if matrix.cpus_per_cell > 1 {
        let n = matrix.cpus_per_cell;
        caption += &format!("Each cell is the median of up to {n} × {n} pairs. ");
    }
    if let Some(times) = elsewhere(coherence) {
        caption += &format!("These times did not stay the same: {times}. ");
    }
    let title = match view.method {
        PairMethod::Unknown => "Time of each pair of CPUs, ns".to_owned(),
        method => format!("Time of each pair of CPUs, {}, ns", method.name()),
    };
    section.summary(Map { id: "heat-map".into(), title, caption: caption.trim().to_owned(), matrix });
}

/// What the figures say as a whole, for `compare`. A publication that passes no verdict has no classes or levels either.
fn verdict_facts(coherence: &Coherence, judgement: &Judgement) -> Option<Facts> {
    let verdict = verdict(coherence, judgement)?;
    let (name, _) = verdict.split_once(':')?;
    let contradictions = judgement.contradictions.as_ref().map(|all| all.len().to_string());
    let facts = [
        ("verdict", name.to_owned()),
        ("one value, but for a few", judgement.stable.map_or("–", words::yes_no).to_owned()),
        ("classes found", judgement.classes.len().to_string()),
        ("levels found", judgement.levels.len().to_string()),
        ("contradictions", contradictions.unwrap_or_else(|| "–".to_owned())),
    ];
    Some(Facts::new("verdict", "").facts(facts).compared())
}

/// The values between which a figure jumped, with their shares of its batches: `24.1 ns (70 %)`.
fn modes<'a>(modes: impl IntoIterator<Item = &'a Mode>, separator: &str) -> String {
    let mode = |mode: &Mode| format!("{} ns ({:.0} %)", words::number(mode.value), mode.share * 100.0);
    words::joined(modes.into_iter().map(mode), separator)
}

#[cfg(test)]
mod tests;
