//! The published matrices, against the groups that their hardware has.

use std::collections::BTreeMap;

use coho_model::Verdict;
use coho_model::{Classification, Matrix, classify};
use coho_topology::{CpuSet, Pu, Topology, Unit};
use serde_json::Value;

fn read(name: &str) -> Matrix {
    let file = coho_testing::data(&format!("matrices/{name}"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    Matrix::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// How many groups there are of each size.
fn sizes(groups: &[Vec<u32>]) -> BTreeMap<String, u64> {
    let mut sizes = BTreeMap::new();
    groups.iter().for_each(|group| *sizes.entry(group.len().to_string()).or_default() += 1);
    sizes
}

#[test]
fn expected_levels_are_found() {
    let text = std::fs::read_to_string(coho_testing::data("matrices/expected.json")).unwrap();
    let expected: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    assert!(!expected.is_empty());
    for (name, entry) in expected {
        let matrix = read(&name);
        assert_eq!(matrix.len() as u64, entry["n"], "{name}");
        let found = classify(&matrix);
        for level in entry["levels"].as_array().unwrap() {
            let same = found.levels.iter().any(|found| match level["members"].as_array() {
                Some(members) => serde_json::to_value(&found.groups).unwrap().as_array() == Some(members),
                None => serde_json::to_value(sizes(&found.groups)).unwrap() == level["sizes"],
            });
            let physical = level["expect"] == true || name == "nviennot_Apple_M1_Pro.csv";
            if level["expect"] == true {
                assert!(same, "{name}: {} groups not found", level["groups"]);
            }
            assert!(physical || !same, "{name}: {} groups are no level", level["groups"]);
        }
    }
}

fn levels(found: &Classification) -> Vec<BTreeMap<String, u64>> {
    found.levels.iter().map(|level| sizes(&level.groups)).collect()
}

/// A matrix, its verdict and the sizes of each level's groups.
type Case = (&'static str, Verdict, &'static [&'static [(&'static str, u64)]]);

/// Nothing but hardware's levels, and what the line's home does to the rest.
#[test]
fn verdicts() {
    use Verdict::{Flat, HomeBiased, Hops};
    let sizes = |levels: &[&[(&str, u64)]]| -> Vec<BTreeMap<String, u64>> {
        let level = |sizes: &&[(&str, u64)]| sizes.iter().map(|&(size, n)| (size.to_owned(), n)).collect();
        levels.iter().map(level).collect()
    };
    let cases: [Case; 22] = [
        ("kcores_AMD_FX-8300_8-Core_Processor_by-kassane", Hops, &[&[("2", 4)]]),
        // Sibling threads are expected at 64 pairs; four of them took twice as long as the others.
        ("kcores_Dual_AMD_EPYC_7601_32-Core_Processor_by-jstzwj", HomeBiased, &[&[("2", 64)], &[("8", 16)]]),
        // The time of one of the two pairs is 0: less than a step of the clock.
        ("kcores_Intel_Core_2_Quad_Processor_Q9550_2.83GHz_by-yowanvista", Hops, &[&[("2", 2)]]),
        ("kcores_Intel_Xeon_E5-2697v3_HT-off_by-miyconst", Flat, &[]),
        ("kcores_Quad_Intel_Xeon_E5-4650v2_2.4GHz_by-AlloyBronya", Hops, &[&[("2", 20)], &[("20", 2)]]),
        // Noise: twelve threads of six cores, no pair of them nearer than others.
        ("kcores_AMD_Ryzen_5_5500_6-Core_Processor_by-Besnn", Flat, &[]),
        ("kcores_Dual_AMD_EPYC_7302_16-Core_Processor_by-herver", HomeBiased, &[&[("2", 32)], &[("4", 16)]]),
        ("kcores_Loongson_3A6000HV_2.5GHz_4_Cores_2023-Q4_by-KatyushaScarlet", Hops, &[&[("2", 4)]]),
        ("nviennot_AMD_EPYC_7773X", Hops, &[&[("2", 64)], &[("16", 8)]]),
        ("nviennot_AMD_EPYC_7R13_48-Core_Processor", HomeBiased, &[&[("2", 96)], &[("16", 12)]]),
        ("nviennot_AMD_Ryzen_7_2700X_Eight-Core_Processor", Hops, &[&[("2", 8)], &[("8", 2)]]),
        ("nviennot_AMD_Ryzen_9_5950X_3.40_GHz", Hops, &[&[("2", 16)], &[("16", 2)]]),
        // Threads are one step of the clock nearer than cores.
        ("nviennot_AMD_Ryzen_9_7950X", Hops, &[&[("2", 16)], &[("16", 2)]]),
        ("nviennot_AMD_Ryzen_Threadripper_1950X", HomeBiased, &[&[("2", 16)], &[("8", 4)]]),
        ("nviennot_AWS_Graviton3", Flat, &[]),
        // Two efficiency cores and two clusters of three performance cores.
        ("nviennot_Apple_M1_Pro", Hops, &[&[("2", 1), ("3", 2)]]),
        ("nviennot_Dual_Intel_R_Xeon_Gold_6242_2.8GHz", Hops, &[&[("2", 32)], &[("32", 2)]]),
        ("nviennot_Dual_Intel_R_Xeon_R_CPU_X5650_2.67GHz", Hops, &[&[("2", 12)], &[("12", 2)]]),
        ("nviennot_Intel_Core_i9-12900K", Hops, &[&[("1", 8), ("2", 8)]]),
        // Two cores have two threads, and two others have no L3.
        ("nviennot_Intel_Core_Ultra_7_155U", Hops, &[&[("1", 10), ("2", 2)], &[("1", 2), ("12", 1)]]),
        // Four efficiency cores, and two performance cores that are not as near to each other.
        ("hydroo_Apple_A18_Pro", Hops, &[&[("2", 1), ("4", 1)]]),
        // The CPUs of the second package are farther from each other than from the first, where the line lives.
        ("kcores_Dual_Loongson_3B4000", HomeBiased, &[]),
    ];
    let mut wrong = Vec::new();
    for (name, verdict, expected) in cases {
        let matrix = read(&format!("{name}.csv"));
        let found = classify(&matrix);
        if (found.verdict, levels(&found)) != (verdict, sizes(expected)) {
            wrong.push(format!("{name}: {:?} {:?} {:?}", found.verdict, levels(&found), found.notes));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A time of 0 is less than a step of the clock. No time at all makes two CPUs neither near nor lone.
#[test]
fn a_time_of_0_is_near_and_no_time_is_nothing() {
    let of = |text: &str| classify(&Matrix::parse(text).unwrap());
    let zero = of("\n0\n51,52\n53,51,27\n");
    assert_eq!((zero.verdict, &zero.levels[0].groups), (Verdict::Hops, &vec![vec![0, 1], vec![2, 3]]));
    assert_eq!(zero.levels[0].max_inside_ns, 27.0);
    assert_eq!((zero.classes[0].pairs, zero.classes[0].ns.median), (1, 27.0), "0 is no time");
    assert!(zero.notes[0].starts_with("the time of 1 of 6 pairs is 0"), "{:?}", zero.notes);
    let lone = of("\n0\n51,52\n53,51,50\n");
    assert_eq!((lone.verdict, &lone.levels[..]), (Verdict::Flat, &[][..]));
    let star = of("\n25\n90,\n91,,\n");
    assert_eq!((star.verdict, star.levels.len()), (Verdict::Flat, 0), "{star:?}");
    let mut rows: Vec<Vec<String>> =
        (0..8).map(|a| (0..a).map(|b| if a / 2 == b / 2 { "25" } else { "90" }.into()).collect()).collect();
    rows[1][0] = "0".into();
    let of_rows = |rows: &[Vec<String>]| of(&rows.iter().map(|row| row.join(",") + "\n").collect::<String>());
    let near = of_rows(&rows);
    assert_eq!(near.levels[0].groups, [[0, 1], [2, 3], [4, 5], [6, 7]]);
    rows[1][0] = "-".into();
    let most = of_rows(&rows);
    assert_eq!(most.levels[0].groups, [&[0][..], &[1], &[2, 3], &[4, 5], &[6, 7]]);
    assert!(
        most.notes.iter().any(|note| note.contains("whether CPUs 0-1 have a near partner is not known")),
        "{:?}",
        most.notes
    );
    assert!(!most.notes.iter().any(|note| note.contains("no near partner")), "{:?}", most.notes);
}

#[test]
fn the_home_is_named() {
    let matrix = read("nviennot_AMD_EPYC_7R13_48-Core_Processor.csv");
    let found = classify(&matrix);
    assert!(found.notes.iter().any(|note| note.contains("CPUs 0-47,96-143 look near")), "{:?}", found.notes);
    let medians: Vec<f64> = found.classes.iter().map(|class| class.ns.median).collect();
    assert!(medians.windows(2).all(|pair| pair[1] > 1.7 * pair[0]) && medians.len() == 4, "{medians:?}");
}

#[test]
fn classes_are_named_by_the_claims_they_meet() {
    let matrix = read("nviennot_Dual_Intel_R_Xeon_R_CPU_X5650_2.67GHz.csv");
    let unit = |of: &dyn Fn(u32) -> bool| Unit { id: None, cpus: (0..24).filter(|&cpu| of(cpu)).collect() };
    let mut claimed = Topology {
        pus: (0..24).map(|os| Pu { os, ..Pu::default() }).collect(),
        packages: (0..2).map(|p| unit(&|cpu| cpu % 12 / 6 == p)).collect(),
        cores: (0..12).map(|core| unit(&|cpu| cpu % 12 == core)).collect(),
        ..Topology::default()
    };
    let named = |topology: &Topology| -> Vec<String> {
        let mut found = classify(&matrix);
        found.name_by(topology);
        found.classes.into_iter().map(|class| class.name).collect()
    };
    assert_eq!(named(&claimed), ["core", "package", "system"]);
    claimed.cores = (0..12).map(|core| unit(&|cpu| cpu / 2 == core)).collect();
    claimed.packages = vec![Unit { id: None, cpus: CpuSet::up_to(24) }];
    assert_eq!(named(&claimed), ["class 1", "class 2", "package"]);
}

/// What core-to-core-latency prints for people, of its present version and of its first ones: whole ns.
#[test]
fn printed_tables_show_what_csv_shows() {
    let printed = |name: &str| {
        let text = std::fs::read_to_string(coho_testing::data("printed").join(name)).unwrap();
        Matrix::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let hybrid = printed("core-ultra-7-155u.txt");
    let csv = read("nviennot_Intel_Core_Ultra_7_155U.csv");
    assert_eq!(hybrid.pairs().collect::<Vec<_>>(), csv.pairs().collect::<Vec<_>>());
    let rounded = classify(&printed("loongson-3a6000hv.txt"));
    let exact = classify(&read("kcores_Loongson_3A6000HV_2.5GHz_4_Cores_2023-Q4_by-KatyushaScarlet.csv"));
    assert_eq!((rounded.verdict, levels(&rounded)), (exact.verdict, levels(&exact)));
    let old = printed("ibm-ppc970.txt");
    assert_eq!((old.len(), old.between(0, 1)), (2, Some(576.0)));
}
