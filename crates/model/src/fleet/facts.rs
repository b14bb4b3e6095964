//! The facts of a machine and its software that equal machines share.

use std::collections::BTreeMap;

use coho_profile::{Host, Profile};

use crate::shape;

/// A fact by its name.
pub type Fact = (&'static str, fn(&Profile) -> Option<String>);

/// All facts by which machines may be grouped, or be odd in their group.
pub const FACTS: &[Fact] = &[
    ("cpu", |profile| host(profile)?.cpu.clone()),
    ("topology", |profile| Some(shape::counted(profile.topology.as_ref()?.counts))),
    ("kernel", |profile| host(profile)?.kernel.as_deref().map(release)),
    ("mitigations", |profile| mitigations(&host(profile)?.mitigations)),
    ("architecture", |profile| host(profile)?.architecture.clone()),
    ("hypervisor", |profile| host(profile)?.hypervisor.clone()),
    ("microcode", |profile| host(profile)?.microcode.clone()),
    ("firmware", |profile| host(profile)?.firmware.clone()),
    ("governor", |profile| host(profile)?.governor.clone()),
    ("boost", |profile| host(profile)?.boost.map(|on| if on { "on" } else { "off" }.to_owned())),
    ("clock_source", |profile| host(profile)?.clock_source.clone()),
    ("huge_pages", |profile| host(profile)?.huge_pages.clone()),
    ("os", |profile| host(profile)?.os.clone()),
    ("coho", |profile| host(profile)?.coho_version.clone()),
];

/// The facts in which machines of one group are equal, unless others are asked for.
pub const GROUPED: [&str; 4] = ["cpu", "topology", "kernel", "mitigations"];

/// Facts in which one machine never differs: who differs in them is another machine, even of the same name.
pub(super) const IDENTITY: [&str; 2] = ["cpu", "architecture"];

/// The most letters of a fact.
const LONGEST: usize = 2000;

/// What each of [`FACTS`] is on a machine; nothing where it is not known.
pub(super) fn of(profile: &Profile) -> Vec<Option<String>> {
    let bounded = |fact: String| fact.chars().take(LONGEST).collect();
    FACTS.iter().map(|(_, of)| of(profile).map(bounded)).collect()
}

fn host(profile: &Profile) -> Option<&Host> {
    profile.host.as_ref()
}

/// `Linux 6.12.41+deb13-amd64` of a kernel's name, release and version: the version says when it was built.
fn release(kernel: &str) -> String {
    kernel.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

/// Those that the CPU needs, or `none`: which ones kernels list depends on their age.
fn mitigations(all: &BTreeMap<String, String>) -> Option<String> {
    let needed = all.iter().filter(|(_, state)| *state != "Not affected");
    let needed: Vec<String> = needed.map(|(name, state)| format!("{name}: {state}")).collect();
    match (all.is_empty(), needed.is_empty()) {
        (true, _) => None,
        (false, true) => Some("none needed".into()),
        (false, false) => Some(needed.join("; ")),
    }
}
