//! What an OpenMP program would gain from coho's teams.

use coho_profile::{Estimate, Profile, Sync, SyncPeer};

use super::finding::{Finding, Urgency};
use crate::chance::{Family, Order};
use crate::words::{listed, ratio};

/// The runtime that `coho run --openmp` replaces.
const RUNTIME: &str = "libgomp";

pub fn findings(profile: &Profile) -> Vec<Finding> {
    profile.sync.as_ref().and_then(gain).into_iter().collect()
}

/// Its times beside ours, pass by pass, where both have an interval: the row's index, the row, and its ratio to ours.
fn compared<'a>(sync: &'a Sync, operation: &str) -> Option<(usize, &'a SyncPeer, &'a Estimate)> {
    let of_runtime = |(_, peer): &(usize, &SyncPeer)| peer.name == RUNTIME && peer.operation == operation;
    let rows = sync.peers.iter().enumerate().filter(of_runtime);
    let compared = rows.filter_map(|(at, peer)| Some((at, peer, peer.ratio.as_ref()?)));
    compared.filter(|(.., ratio)| ratio.has_interval()).max_by_key(|(_, peer, _)| peer.threads)
}

/// Whether it was measured, or the profile says why it could not be.
pub(super) fn was_tried(sync: &Sync) -> bool {
    let is_told = |peer: &SyncPeer| peer.ratio.is_some() || peer.not_available.is_some();
    sync.peers.iter().any(|peer| peer.name == RUNTIME && is_told(peer))
}

fn gain(sync: &Sync) -> Option<Finding> {
    let parts = [("fork-join", "to fork and join"), ("barrier", "for a barrier of")];
    let compared: Vec<_> =
        parts.into_iter().filter_map(|(name, words)| Some((words, compared(sync, name)?))).collect();
    // If one part may be due to chance, the program's gain stays open.
    let family = Family::of(compared.len());
    let count =
        |order| compared.iter().filter(|(_, (.., ratio))| family.compare_to(ratio, 1.0) == order).count();
    let (slower, quicker) = (count(Order::More), count(Order::Less));
    if compared.is_empty() || slower > 0 && quicker > 0 || slower + quicker == 0 {
        return None;
    }
    let words: Vec<String> = compared
        .iter()
        .map(|(words, (_, peer, times))| {
            format!("{} times as long {words} {} threads", ratio(times), peer.threads)
        })
        .collect();
    let gains = slower > 0;
    let text = format!(
        "libgomp takes {} as coho's teams: an OpenMP program {} that each time.",
        listed(&words),
        if gains { "gains" } else { "loses" }
    );
    Some(Finding {
        id: "openmp-gain",
        brief: text.clone(),
        text,
        act: if gains { "`coho run --openmp --try -- PROGRAM`".into() } else { String::new() },
        urgency: if gains { Urgency::Advice } else { Urgency::Note },
        evidence: compared.iter().map(|(_, (at, ..))| format!("/sync/peers/{at}/ratio")).collect(),
        condition: "timed in turn in one run, each thread on a CPU of its own; a program that seldom forks \
                    or waits sees little of it"
            .into(),
        next: if gains {
            "`coho run --openmp --try -- PROGRAM` shows it for a program compiled by gcc -fopenmp.".into()
        } else {
            String::new()
        },
    })
}
