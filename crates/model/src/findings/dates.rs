//! One file may hold figures of several runs: a finding based on such figures says when they were measured.

use std::collections::BTreeSet;

use coho_profile::{Dated, Method, Profile};

use super::finding::Finding;

/// Whether one run measured both, as far as is known.
pub(super) fn are_of_one_run(one: &Method, other: &Method) -> bool {
    one.date.is_some() && one.date == other.date
}

/// Adds to each finding's condition when its figures were measured, if that was not in the file's last run.
pub(super) fn add(findings: &mut [Finding], profile: &Profile) {
    let Some(last) = profile.host.as_ref().and_then(|host| host.date.as_deref()) else { return };
    let dates = profile.dates();
    // A file in which no section has a date, such as an imported one, says so once, in its header.
    if dates.iter().any(|one| one.date.is_some()) {
        findings.iter_mut().for_each(|finding| add_to(finding, &dates, last));
    }
}

fn add_to(finding: &mut Finding, dates: &[Dated<'_>], last: &str) {
    let mut named: BTreeSet<(&str, &str)> = BTreeSet::new();
    for pointer in &finding.evidence {
        let mut parts = pointer.split('/').skip(1);
        let (Some(section), field) = (parts.next(), parts.next().unwrap_or_default()) else { continue };
        // Parts that another run measured than the rest of their section are recognised by their names.
        let is_part = |part: &str| match (section, field) {
            ("calls", "verdicts" | "footprint" | "channel") => part == "curves",
            ("memory", field) => part.split(", ").any(|one| one == field),
            _ => false,
        };
        let of_part = dates.iter().find(|one| one.section == section && is_part(&one.part));
        let of_all = || dates.iter().find(|one| one.section == section && one.part.is_empty());
        if let Some(dated) = of_part.or_else(of_all) {
            named.insert((dated.section, dated.date.unwrap_or("an unknown date")));
        }
    }
    let runs: BTreeSet<&str> = named.iter().map(|(_, date)| *date).collect();
    match runs.first() {
        Some(only) if runs.len() == 1 && *only != last => {
            finding.condition += &format!("; measured on {only}, not in this file's last run");
        }
        Some(_) if runs.len() > 1 => {
            let each: Vec<String> =
                named.iter().map(|(section, date)| format!("{section} on {date}")).collect();
            finding.condition += &format!("; measured in several runs: {}", each.join(", "));
        }
        _ => {}
    }
}
