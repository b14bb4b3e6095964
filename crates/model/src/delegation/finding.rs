//! What the curves mean for the reader, in a sentence.

use coho_profile::Ns;

use super::verdict::bytes;
use super::{Decision, DelegationVerdict};

/// Most calls that are named for one reason.
const NAMED: usize = 6;

/// Which calls another core should execute on this machine, from which footprint on, and under which condition; `None`
/// where no curve was measured.
pub fn finding(verdicts: &[DelegationVerdict]) -> Option<String> {
    let condition = &verdicts.first()?.mode;
    let decisions = decisions(verdicts)?;
    Some(format!(
        "Calls on another core, by how much of its caches the caller has used: {decisions} ({condition})"
    ))
}

/// The decisions alone: `worth it for a caller that waits: write from 64 KiB on; never within what was measured: getpid`.
pub(crate) fn decisions(verdicts: &[DelegationVerdict]) -> Option<String> {
    let mut parts = Vec::new();
    let from = |verdict: &&DelegationVerdict| verdict.decision == Decision::From;
    let mut paying: Vec<&DelegationVerdict> = verdicts.iter().filter(from).collect();
    paying.sort_by_key(|verdict| verdict.from_footprint_bytes);
    if !paying.is_empty() {
        let one = |verdict: &&DelegationVerdict| {
            let from = verdict
                .from_footprint_bytes
                .map_or_else(String::new, |from| format!(" from {} on", bytes(from)));
            format!("{}{from}", name(verdict))
        };
        parts.push(format!("worth it for a caller that waits: {}", listed(&paying, one)));
    }
    let never: Vec<&DelegationVerdict> =
        verdicts.iter().filter(|verdict| verdict.decision == Decision::Never).collect();
    if !never.is_empty() {
        parts.push(format!("never within what was measured: {}", listed(&never, |verdict| name(verdict))));
    }
    let open: Vec<&DelegationVerdict> =
        verdicts.iter().filter(|verdict| verdict.decision == Decision::Undecided).collect();
    if !open.is_empty() {
        parts.push(format!("undecided: {}", listed(&open, |verdict| name(verdict))));
    }
    let posted: Vec<&DelegationVerdict> =
        verdicts.iter().filter(|verdict| verdict.async_decision == Decision::From).collect();
    if !posted.is_empty() {
        let one = |verdict: &&DelegationVerdict| {
            let work = verdict.async_from_work_ns.unwrap_or_default() / Ns::US;
            format!("{} from {work} us", name(verdict))
        };
        parts.push(format!("if posted while the caller works on: {}", listed(&posted, one)));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// `write(4096) on ext4`; the payload of one byte and memory's file system are the usual ones.
fn name(verdict: &DelegationVerdict) -> String {
    let DelegationVerdict { call, payload_bytes, filesystem, .. } = verdict;
    let payload = if *payload_bytes > 1 { format!("({payload_bytes})") } else { String::new() };
    let place = filesystem.as_deref().filter(|name| *name != "tmpfs");
    let place = place.map_or_else(String::new, |place| format!(" on {place}"));
    format!("{call}{payload}{place}")
}

fn listed(all: &[&DelegationVerdict], one: impl Fn(&&DelegationVerdict) -> String) -> String {
    let more = all.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    all.iter().take(NAMED).map(one).collect::<Vec<_>>().join(", ") + &more
}
