//! Other libraries' barriers, fork and join.

use std::collections::BTreeMap;

use coho_model::chance::{Family, Order};
use coho_profile::{Sync, SyncPeer};

use super::key;
use crate::sections::prelude::*;

pub(super) fn add(section: &mut Section, subject: &Subject, sync: &Sync) {
    let (absent, measured): (Vec<&SyncPeer>, Vec<&SyncPeer>) =
        sync.peers.iter().partition(|peer| peer.not_available.is_some());
    let ratios = measured.iter().filter(|peer| peer.ratio.is_some()).count();
    let family = Family::of(ratios);
    let order = |peer: &SyncPeer| Some(family.compare_to(peer.ratio.as_ref()?, 1.0));
    let too_few = !subject.published && measured.iter().any(|peer| order(peer) == Some(Order::TooFew));
    section.summary(
        Table::of("peers", "", measured)
            .text("other library", |peer| peer.name.as_str())
            .text("operation", |peer| peer.operation.as_str())
            .figures("threads", "", |peer| Some(peer.threads).filter(|&threads| threads > 0))
            .compared("", "ns", "ns", |peer| subject.figure_of(&peer.ns))
            .compared("over ours", "", "over-ours.ratio", |peer| {
                let mark = match order(peer)? {
                    _ if subject.published => "",
                    Order::Less | Order::More => "",
                    Order::Open => "=",
                    Order::TooFew => "~",
                };
                Some(subject.figure_of(&peer.ratio)?.format(Format::Ratio).marked(mark))
            })
            .keyed(|peer| {
                let (id, label) = key(&peer.name, &peer.operation, peer.threads, "");
                (format!("sync.peer.{id}"), label)
            })
            .note_if(ratios > 0, format!(
                "Over ours: the median over passes of the ratio of the two in one pass; above 1, ours is quicker, unless \
                 marked =: not told from 1 beyond chance{}. Ours: {}.",
                if too_few { "; or ~: too few passes to tell" } else { "" },
                ours(sync)
            )),
    );
    section.summary(absent.into_iter().map(|peer| {
        let what = format!("{}, {}", peer.name, peer.operation);
        Missing::new(what, peer.not_available.as_deref().unwrap_or_default())
    }));
}

/// What other libraries are compared with: the barrier that coho chose for their teams, and its own team.
fn ours(sync: &Sync) -> String {
    let chosen = sync.method.parameters.get("auto").and_then(|auto| auto.as_object());
    let mut teams: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (team, barrier) in chosen.into_iter().flatten() {
        teams.entry(barrier.as_str().unwrap_or("–")).or_default().push(team);
    }
    let all = teams.len() < 2;
    let named = |(barrier, teams): (&str, Vec<&str>)| match all {
        true => barrier.to_owned(),
        false => format!("{barrier} ({})", teams.join("; ")),
    };
    let barriers = words::joined(teams.into_iter().map(named), ", ");
    let barriers = if barriers.is_empty() { "as auto chooses" } else { &barriers };
    format!("barrier {barriers}; fork and join by a team")
}

#[cfg(test)]
mod tests {
    use super::*;
    use coho_profile::Estimate;

    use crate::testing::{self, missing};

    #[test]
    fn what_peers_are_compared_with_is_named() {
        let mut sync = Sync::default();
        assert_eq!(ours(&sync), "barrier as auto chooses; fork and join by a team");
        let both = serde_json::json!({"2 threads": "fbs-one-line", "4 threads": "fbs-one-line"});
        sync.method.parameters.insert("auto".into(), both);
        assert_eq!(ours(&sync), "barrier fbs-one-line; fork and join by a team");
        sync.method.parameters.insert("auto".into(), serde_json::json!({"2": "fbs", "64": "grid"}));
        assert_eq!(ours(&sync), "barrier fbs (2), grid (64); fork and join by a team");
    }

    #[test]
    fn a_ratio_of_too_few_passes_is_not_called_equal() {
        let peer = |passes: u64, ratio: f64| SyncPeer {
            name: "x".into(),
            operation: "barrier".into(),
            threads: 2,
            ratio: Some(Estimate {
                n: passes,
                passes,
                low: ratio * 0.98,
                high: ratio * 1.02,
                ..Estimate::exact(ratio)
            }),
            ..SyncPeer::default()
        };
        let text = |peers: Vec<SyncPeer>| {
            let mut section = Section::new("x", "X", "");
            let sync = Sync { peers, ..Sync::default() };
            add(&mut section, &Subject::new("mine", Default::default()), &sync);
            testing::text(&section, Depth::Summary).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let few = text(vec![peer(5, 45.0)]);
        assert!(few.contains("~") && few.contains("or ~: too few passes to tell"), "{few}");
        let enough = text(vec![peer(12, 45.0)]);
        assert!(enough.contains("45.0 (44.1–45.9) ─") && !enough.contains('~'), "{enough}");
        assert!(text(vec![peer(12, 1.0)]).contains("="));
    }

    #[test]
    fn a_library_that_was_not_measured_has_a_reason_and_no_row() {
        let peer = SyncPeer {
            name: "libomp".into(),
            operation: "barrier".into(),
            not_available: Some("not available: no clang".into()),
            ..SyncPeer::default()
        };
        let mut section = Section::new("x", "X", "");
        let sync = Sync { peers: vec![peer], ..Sync::default() };
        add(&mut section, &Subject::new("mine", Default::default()), &sync);
        assert_eq!(section.parts.len(), 1);
        assert_eq!(missing(&section), [&Missing { what: "libomp, barrier".into(), why: "no clang".into() }]);
    }
}
