//! The quickest barrier, and how far it is from the limit.

use coho_profile::{BarrierTime, Estimate, Profile, Sync};

use super::{Finding, Urgency, listed, ns, number};
use crate::barrier::{is_slower, quickest_measured};

/// Barriers alike that are named.
const NAMED: usize = 3;

pub fn findings(profile: &Profile) -> Vec<Finding> {
    profile.sync.as_ref().and_then(quickest).into_iter().collect()
}

fn quickest(sync: &Sync) -> Option<Finding> {
    let timed = || {
        let told = sync.barriers.iter().enumerate().filter(|(_, row)| row.algorithm != "auto");
        told.filter_map(|(at, row)| Some((at, row, row.ns.as_ref().filter(|ns| ns.has_interval())?)))
    };
    let threads = timed().map(|(_, row, _)| row.threads).max()?;
    let mut rows: Vec<(usize, &BarrierTime, &Estimate)> =
        timed().filter(|(_, row, _)| row.threads == threads).collect();
    rows.sort_by(|(.., a), (.., b)| a.median.total_cmp(&b.median));
    let (at, best, time) = *rows.first()?;
    // Mappings of ranks on CPUs do not make two barriers.
    let alike: Vec<_> = rows.iter().filter(|(.., other)| !is_slower(time, other)).collect();
    let mut names: Vec<String> = Vec::new();
    for name in alike.iter().map(|(_, row, _)| row.name()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let has_jumped = time.stable == Some(false);
    // The median of a time that jumped lies between its values: its ratio to the limit would mean nothing.
    let limit = best.times_limit.filter(|_| !has_jumped);
    let limit = limit.map(|times| format!(", {} times the latency limit", number(times)));
    let limit = limit.unwrap_or_default();
    let is_alone = quickest_measured(sync, threads).is_some();
    let text = match (is_alone, names.len()) {
        (true, _) => {
            format!("The quickest barrier of {threads} threads is {}: {}{limit}.", best.name(), ns(time))
        }
        (false, 1) => format!("A barrier of {threads} threads takes {} by {}{limit}.", ns(time), best.name()),
        _ => {
            let more = names.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" ({more} more)") } else { String::new() };
            names.truncate(NAMED);
            format!(
                "A barrier of {threads} threads takes {}{limit}; within what chance explains, {}{more} are alike.",
                ns(time),
                listed(&names)
            )
        }
    };
    let mapping = match best.mapping.as_str() {
        "" => String::new(),
        mapping => format!(", ranks on CPUs in {mapping} order"),
    };
    let jumped = if has_jumped { "; its time did not keep to one value" } else { "" };
    Some(Finding {
        id: "quickest-barrier",
        text,
        urgency: Urgency::Note,
        evidence: match is_alone {
            true => vec![format!("/sync/barriers/{at}")],
            false => alike.iter().map(|(at, ..)| format!("/sync/barriers/{at}")).collect(),
        },
        condition: format!("one barrier after another, all threads on CPUs of their own{mapping}{jumped}"),
        next: format!(
            "`coho predict barrier PROFILE --threads {threads}` says why, and what other teams would take."
        ),
    })
}
