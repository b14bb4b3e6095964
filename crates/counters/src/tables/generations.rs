//! The micro-architecture that an x86 CPU's family and model name, as the files of events call it.

use super::Identity;

/// The generations of Intel's CPU; the one that AMX reveals comes before the one that the model number claims, since a
/// hypervisor can hide an extension but not add one.
pub(super) fn of_intel(identity: &Identity) -> Vec<&'static str> {
    let claimed = claimed(identity);
    let has_amx = |name| ["Sapphire Rapids", "Granite Rapids"].contains(&name);
    let betrayed = (identity.amx && !claimed.is_some_and(has_amx)).then_some("Sapphire Rapids");
    betrayed.into_iter().chain(claimed).collect()
}

/// What the model number says.
fn claimed(identity: &Identity) -> Option<&'static str> {
    if identity.family != 6 {
        return None;
    }
    Some(match identity.model {
        0x1A | 0x1E | 0x1F | 0x2E => "Nehalem",
        0x25 | 0x2C | 0x2F => "Westmere",
        0x2A | 0x2D => "Sandy Bridge",
        0x3A | 0x3E => "Ivy Bridge",
        0x3C | 0x3F | 0x45 | 0x46 => "Haswell",
        0x3D | 0x47 | 0x4F | 0x56 => "Broadwell",
        0x4E | 0x55 | 0x5E | 0x8E | 0x9E | 0xA5 | 0xA6 => "Skylake",
        0x6A | 0x6C | 0x7D | 0x7E => "Ice Lake",
        0x8C | 0x8D => "Tiger Lake",
        0xA7 => "Rocket Lake",
        0x8F | 0xCF => "Sapphire Rapids",
        0xAD | 0xAE => "Granite Rapids",
        // Alder Lake, Raptor Lake.
        0x97 | 0x9A | 0xB7 | 0xBA | 0xBF if !identity.efficient => "Golden Cove",
        0x97 | 0x9A | 0xB7 | 0xBA | 0xBF | 0xBE => "Gracemont",
        // Meteor Lake; Sierra Forest and Grand Ridge, which have only small cores.
        0xAA | 0xAC if !identity.efficient => "Redwood Cove",
        0xAA | 0xAC | 0xAF | 0xB6 => "Crestmont",
        // Lunar Lake, Arrow Lake.
        0xBD | 0xC5 | 0xC6 | 0xB5 if !identity.efficient => "Lion Cove",
        0xBD | 0xC5 | 0xC6 | 0xB5 => "Skymont",
        _ => return None,
    })
}

pub(super) fn of_amd(identity: &Identity) -> Option<&'static str> {
    Some(match (identity.family, identity.model) {
        (0x10..=0x12, _) => "family 10h",
        (0x15, _) => "family 15h",
        // 0x18 is Hygon's Zen.
        (0x17, 0x00..=0x2F) | (0x18, _) => "Zen",
        (0x17, _) => "Zen 2",
        (0x19, 0x10..=0x1F | 0x60..=0xAF) => "Zen 4",
        (0x19, _) => "Zen 3",
        (0x1A, _) => "Zen 5",
        _ => return None,
    })
}
