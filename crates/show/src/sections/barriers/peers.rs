//! Other libraries' barriers, fork and join.

use std::collections::BTreeMap;

use coho_profile::{Sync, SyncPeer};

use super::key;
use crate::Subject;
use crate::figure::{Figure, Format};
use crate::part::{Cell, Column, Missing, Row, Section, Table};
use crate::words;

pub(super) fn add(section: &mut Section, subject: &Subject, sync: &Sync) {
    let (absent, measured): (Vec<&SyncPeer>, Vec<&SyncPeer>) =
        sync.peers.iter().partition(|peer| peer.not_available.is_some());
    if !measured.is_empty() {
        let mut table = Table::new("peers", "")
            .columns([
                Column::text("other library"),
                Column::text("operation"),
                Column::figures("threads", ""),
                Column::figures("", "ns").compared("ns"),
                Column::figures("over ours", "").compared("over-ours.ratio"),
            ])
            .rows(measured.iter().map(|peer| row(subject, sync, peer)));
        if measured.iter().any(|peer| peer.ratio.is_some()) {
            table = table.note(format!(
                "Over ours: the median over passes of the ratio of the two in one pass; above 1, ours is quicker. Ours: {}.",
                ours(sync)
            ));
        }
        section.summary(table);
    }
    for peer in absent {
        let what = [peer.name.as_str(), &peer.operation].join(", ");
        section.summary(Missing { what, why: words::reason(peer.not_available.as_deref().unwrap_or("")) });
    }
}

fn row(subject: &Subject, sync: &Sync, peer: &SyncPeer) -> Row {
    // Timed as ours were, and over them.
    let back_to_back = peer.operation == "fork-join" && sync.is_back_to_back();
    let (id, label) =
        key(&peer.name, &peer.operation, peer.threads, if back_to_back { "back-to-back" } else { "" });
    let threads = if peer.threads > 0 { Figure::count(peer.threads).into() } else { Cell::Nothing };
    Row::new([
        peer.name.clone().into(),
        peer.operation.clone().into(),
        threads,
        Cell::maybe(peer.ns.as_ref().map(|ns| subject.figure(ns))),
        Cell::maybe(peer.ratio.as_ref().map(|ratio| subject.figure(ratio).format(Format::Ratio))),
    ])
    .keyed(format!("sync.peer.{id}"), label)
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
    let barriers: Vec<_> = teams.into_iter().map(named).collect();
    let barrier = if barriers.is_empty() { "as auto chooses".to_owned() } else { barriers.join(", ") };
    format!("barrier {barrier}; fork and join by a team")
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_library_that_was_not_measured_has_a_reason_and_no_row() {
        let peer = SyncPeer {
            name: "libomp".into(),
            operation: "barrier".into(),
            not_available: Some("not available: no clang".into()),
            ..SyncPeer::default()
        };
        let mut section = Section::new("x", "X", "");
        add(
            &mut section,
            &Subject::new("mine", Default::default()),
            &Sync { peers: vec![peer], ..Sync::default() },
        );
        let [part] = &section.parts[..] else { panic!("{section:?}") };
        let crate::part::Body::Missing(missing) = &part.body else { panic!("{part:?}") };
        assert_eq!((missing.what.as_str(), missing.why.as_str()), ("libomp, barrier", "no clang"));
    }
}
