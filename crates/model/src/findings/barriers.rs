//! The quickest barrier, and how far it is from the lower bound.

use coho_profile::{BarrierTime, Estimate, Profile, Sync};

use super::finding::{Finding, Urgency, brief};
use super::moves::have_stayed_for;
use crate::barrier::{FarthestPair, search, times_limit};
use crate::chance::Order;
use crate::words::{listed, ns, number};

/// The most equally quick barriers that are named.
const NAMED: usize = 3;

pub fn findings(profile: &Profile) -> Vec<Finding> {
    profile.sync.as_ref().and_then(|sync| quickest(profile, sync)).into_iter().collect()
}

fn quickest(profile: &Profile, sync: &Sync) -> Option<Finding> {
    let timed = || {
        let named = sync.barriers.iter().enumerate().filter(|(_, row)| row.algorithm != "auto");
        named.filter_map(|(at, row)| Some((at, row, row.ns.as_ref().filter(|ns| ns.has_interval())?)))
    };
    let threads = timed().map(|(_, row, _)| row.threads).max()?;
    let mut rows: Vec<(usize, &BarrierTime, &Estimate)> =
        timed().filter(|(_, row, _)| row.threads == threads).collect();
    rows.sort_by(|(.., a), (.., b)| a.median.total_cmp(&b.median));
    let (at, best, time) = *rows.first()?;
    // Different mappings of ranks to CPUs do not make different barriers.
    let search = search(rows.len());
    let alike: Vec<_> =
        rows.iter().filter(|(.., other)| search.compare(time, other) != Order::Less).collect();
    let mut names: Vec<String> = Vec::new();
    for name in alike.iter().map(|(_, row, _)| row.name()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let has_jumped = time.stable == Some(false);
    let limit = times_limit(best.times_limit, time);
    let limit = limit.map(|times| format!(", {} times the latency limit", number(times)));
    let limit = limit.unwrap_or_default();
    // A barrier with too few samples may be the quickest.
    let is_certain = |row: &BarrierTime| row.ns.as_ref().is_none_or(Estimate::has_interval);
    let mut others = sync
        .barriers
        .iter()
        .filter(|row| row.threads == threads && row.algorithm != "auto" && row.name() != best.name());
    let is_alone = names.len() == 1 && others.clone().all(is_certain) && others.any(|row| row.ns.is_some());
    let whole = |text: String| (text.clone(), text);
    let (text, short) = match (is_alone, names.len()) {
        (true, _) => whole(format!(
            "The quickest barrier of {threads} threads is {}: {}{limit}.",
            best.name(),
            ns(time)
        )),
        (false, 1) => {
            whole(format!("A barrier of {threads} threads takes {} by {}{limit}.", ns(time), best.name()))
        }
        (_, n) => {
            let more = names.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" ({more} more)") } else { String::new() };
            names.truncate(NAMED);
            let text = format!(
                "A barrier of {threads} threads takes {}{limit}; {}{more} tie: their intervals \
                 overlap, or they are within a tenth.",
                ns(time),
                listed(&names)
            );
            let short =
                format!("A barrier of {threads} threads takes {}{limit}; {n} algorithms tie.", ns(time));
            (text, short)
        }
    };
    let own = sync.limit_ns.as_ref().map(|limit| &limit.barrier).filter(|ns| ns.median.is_finite());
    let own = own.map_or_else(String::new, |own| {
        let pairs = FarthestPair::of(profile)
            .map(|apart| format!("; when pairs were measured, the farthest took {} ns", number(apart.pairs)));
        format!(
            "; the limit, measured while the barriers ran, is {} one way over the lines of all of them{}{}",
            ns(own),
            pairs.unwrap_or_default(),
            if limit.is_empty() {
                ""
            } else {
                "; the multiple compares the barrier with its own line, pass by pass"
            }
        )
    });
    let mapping = match best.mapping.as_str() {
        "" => String::new(),
        mapping => format!(", ranks on CPUs in {mapping} order"),
    };
    let (jumped, clause) = match (has_jumped, have_stayed_for(profile, &sync.method)) {
        (true, _) => ("; its time did not keep to one value", "its time did not keep to one value"),
        (false, true) => ("", ""),
        (false, false) => (
            "; holds only while the CPUs stay this far apart, which is not known",
            "while the CPUs stay this far apart",
        ),
    };
    Some(Finding {
        id: "quickest-barrier",
        brief: brief(&short, clause),
        text,
        act: String::new(),
        urgency: Urgency::Note,
        evidence: match is_alone {
            true => vec![format!("/sync/barriers/{at}")],
            false => alike.iter().map(|(at, ..)| format!("/sync/barriers/{at}")).collect(),
        },
        condition: format!(
            "one barrier after another, all threads on CPUs of their own{mapping}{own}{jumped}"
        ),
        next: format!(
            "`coho predict barrier PROFILE --threads {threads}` shows what the model predicts, also for \
             other teams."
        ),
    })
}
