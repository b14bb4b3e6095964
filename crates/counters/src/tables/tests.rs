use proptest::prelude::*;

use super::*;

fn x86(vendor: Vendor, family: u32, model: u32) -> Identity {
    Identity { family, model, ..Identity::from_signature(vendor, 0) }
}

/// Bits of the event-select register that perf lets a raw event set: Intel's event, unit mask, edge, any thread,
/// inversion and threshold; AMD's event has four more bits, and no bit for the other thread.
fn layout(vendor: Vendor) -> u64 {
    const COMMON: u64 = 0xff00_0000 | INVERT | 1 << 18 | 0xffff;
    match vendor {
        Vendor::Intel => COMMON | ANY_THREAD,
        Vendor::Amd => COMMON | 0xf << 32,
        Vendor::Arm | Vendor::Other => 0xffff,
    }
}

fn identities() -> impl Strategy<Value = Identity> {
    (
        prop::sample::select(&[Vendor::Intel, Vendor::Amd, Vendor::Arm, Vendor::Other]),
        prop::sample::select(&[6, 0xF, 0x10, 0x12, 0x15, 0x17, 0x18, 0x19, 0x1A, 0x41]),
        0..0x100u32,
        any::<[bool; 2]>(),
        prop::sample::select(&[4u32, 8, 10]),
    )
        .prop_map(|(vendor, family, model, [efficient, amx], raw_kind)| Identity {
            efficient,
            amx,
            raw_kind,
            ..x86(vendor, family, model)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn every_table_is_well_formed(identity in identities()) {
        for column in Column::ALL {
            let candidates = candidates(&identity, column);
            prop_assert!(generic::is_generic(candidates.last().unwrap().events[0].kind));
            for (i, candidate) in candidates.iter().enumerate() {
                prop_assert!(!candidates[..i].contains(candidate), "{column}: {candidate} stands twice");
                prop_assert!(!candidate.events.is_empty());
                for event in &candidate.events {
                    prop_assert!(!event.name.is_empty());
                    if generic::is_generic(event.kind) {
                        prop_assert_eq!(event.config1, 0);
                    } else {
                        prop_assert_eq!(event.kind, identity.raw_kind);
                        prop_assert_eq!(event.config & !layout(identity.vendor), 0, "{}: {}", column, candidate);
                    }
                }
            }
        }
    }
}

#[test]
fn raw_codes_mean_one_event_each() {
    // Within a generation no two names share a code, and no two columns an event but for the kernel's own.
    for identity in every_known() {
        for name in names(&identity) {
            let own = rows(identity.vendor).filter(|row| row.is_of(name));
            let events: Vec<_> = own.flat_map(|row| row.candidate(identity.raw_kind).events).collect();
            for (i, a) in events.iter().enumerate() {
                for b in &events[..i] {
                    assert!(
                        (a.config, a.config1) != (b.config, b.config1),
                        "{name}: {} and {}",
                        a.name,
                        b.name
                    );
                }
            }
        }
    }
}

#[test]
fn every_row_is_of_a_known_column_and_generation() {
    let known: Vec<_> = every_known().iter().flat_map(names).collect();
    for row in [Vendor::Intel, Vendor::Amd, Vendor::Arm].into_iter().flat_map(rows) {
        assert!(Column::ALL.iter().any(|column| column.name() == row.column), "{row:?}");
        assert!(row.of == "all" || row.of.split(", ").all(|name| known.contains(&name)), "{row:?}");
        assert!(!row.candidate(PERF_TYPE_RAW).events.is_empty(), "{row:?}");
    }
}

fn every_known() -> Vec<Identity> {
    let models = |vendor, family| (0..0x100).map(move |model| x86(vendor, family, model));
    let mut all: Vec<_> = models(Vendor::Intel, 6).collect();
    all.extend(models(Vendor::Intel, 6).map(|identity| Identity { efficient: true, ..identity }));
    for family in [0x10, 0x12, 0x15, 0x17, 0x18, 0x19, 0x1A] {
        all.extend(models(Vendor::Amd, family));
    }
    all
}

#[test]
fn models_are_what_the_makers_call_them() {
    use Vendor::{Amd, Intel};
    for (vendor, family, model, name) in [
        (Intel, 6, 0x1A, "Nehalem"),
        (Intel, 6, 0x2C, "Westmere"),
        (Intel, 6, 0x2D, "Sandy Bridge"),
        (Intel, 6, 0x3E, "Ivy Bridge"),
        (Intel, 6, 0x3F, "Haswell"),
        (Intel, 6, 0x4F, "Broadwell"),
        (Intel, 6, 0x55, "Skylake"),
        (Intel, 6, 0x6A, "Ice Lake"),
        (Intel, 6, 0x8C, "Tiger Lake"),
        (Intel, 6, 0xA7, "Rocket Lake"),
        (Intel, 6, 0x97, "Golden Cove"),
        (Intel, 6, 0xBE, "Gracemont"),
        (Intel, 6, 0x8F, "Sapphire Rapids"),
        (Intel, 6, 0xCF, "Sapphire Rapids"),
        (Intel, 6, 0xAD, "Granite Rapids"),
        (Intel, 6, 0xAF, "Crestmont"),
        (Amd, 0x10, 0x04, "family 10h"),
        (Amd, 0x15, 0x13, "family 15h"),
        (Amd, 0x17, 0x01, "Zen"),
        (Amd, 0x17, 0x31, "Zen 2"),
        (Amd, 0x17, 0x71, "Zen 2"),
        (Amd, 0x19, 0x01, "Zen 3"),
        (Amd, 0x19, 0x50, "Zen 3"),
        (Amd, 0x19, 0x11, "Zen 4"),
        (Amd, 0x19, 0x61, "Zen 4"),
        (Amd, 0x19, 0xA0, "Zen 4"),
        (Amd, 0x1A, 0x02, "Zen 5"),
    ] {
        assert_eq!(names(&x86(vendor, family, model)), [name], "{vendor:?} {family:#x}/{model:#x}");
    }
    assert_eq!(names(&x86(Intel, 0xF, 4)), [""; 0]);
    assert_eq!(names(&Identity { efficient: true, ..x86(Intel, 6, 0x97) }), ["Gracemont"]);
}

#[test]
fn amx_betrays_a_masked_model() {
    let masked = Identity { amx: true, ..x86(Vendor::Intel, 6, 0xA7) };
    assert_eq!(names(&masked), ["Sapphire Rapids", "Rocket Lake"]);
    assert!(masked.contradiction().unwrap().contains("is Rocket Lake, which has no AMX"));
    let events = candidates(&masked, Column::L1iMisses);
    let text: Vec<_> = events.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "L2_RQSTS.ALL_CODE_RD (0x24/e4)",
            "FRONTEND_RETIRED.L1I_MISS (0xc6/01 config1=0x12)",
            "ICACHE_64B.IFTAG_MISS (0x83/02)",
            "perf L1-icache-load-misses",
        ]
    );
    for honest in [
        x86(Vendor::Intel, 6, 0xA7),
        Identity { amx: true, ..x86(Vendor::Intel, 6, 0x8F) },
        Identity { amx: true, ..x86(Vendor::Intel, 6, 0xAD) },
    ] {
        assert_eq!(honest.contradiction(), None);
    }
}

#[test]
fn the_papers_events_stand_first_on_the_papers_cpu() {
    let nehalem = x86(Vendor::Intel, 6, 0x1A);
    let first = |column| candidates(&nehalem, column)[0].to_string();
    assert_eq!(first(Column::L1dReferences), "L1D_ALL_REF.ANY (0x43/01)");
    assert_eq!(first(Column::L1dMisses), "L1D.REPL (0x51/01)");
    assert_eq!(first(Column::L1iMisses), "L1I.MISSES (0x80/02)");
    assert_eq!(first(Column::L2Misses), "L2_RQSTS.MISS (0x24/aa)");
    assert_eq!(first(Column::L3Misses), "LONGEST_LAT_CACHE.MISS (0x2e/41)");
    assert_eq!(first(Column::Inactive), "UOPS_EXECUTED.CORE_STALL_CYCLES (0xb1/3f inv cmask=1)");
}

#[test]
fn zen_3_has_the_codes_that_were_seen_to_count() {
    let zen_3 = x86(Vendor::Amd, 0x19, 0x01);
    let configs = |column| -> Vec<_> {
        candidates(&zen_3, column).iter().map(|candidate| candidate.events[0].config).collect()
    };
    assert!(configs(Column::Inactive).contains(&0x0180_00C0));
    assert!(configs(Column::L1iMisses).contains(&0x1_0000_188E));
    assert!(configs(Column::L1dMisses).contains(&0xC860));
    assert!(configs(Column::L2Misses).contains(&0x0964));
    assert_eq!(
        candidates(&zen_3, Column::L1iMisses)[0].to_string(),
        "instruction cache tag misses (0x18e/18)"
    );
}

#[test]
fn generic_events_name_the_pmu_of_a_second_kind_of_core() {
    let small = Identity { efficient: true, raw_kind: 10, ..x86(Vendor::Intel, 6, 0x97) };
    let cycles = candidates(&small, Column::Cycles).pop().unwrap();
    assert_eq!(cycles.events[0].config, 10 << 32);
    let loads_and_stores = &candidates(&small, Column::L1dReferences)[0];
    assert_eq!(
        loads_and_stores.to_string(),
        "MEM_UOPS_RETIRED.ALL_LOADS (0xd0/81) + MEM_UOPS_RETIRED.ALL_STORES (0xd0/82)"
    );
    assert!(loads_and_stores.events.iter().all(|event| event.kind == 10));
}
