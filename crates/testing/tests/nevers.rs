//! Which crate may name which, and what no crate of a kind does: the rules of CONTRIBUTING.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The sources below a folder of `crates`, each without its tests. Files of tests alone are left out.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let (mut folders, mut sources) = (vec![root().join("crates").join(folder)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap_or_default();
            if name == "tests" || name == "testing" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = read(&path);
                let shown = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
                sources.push((path, shown));
            }
        }
    }
    assert!(!sources.is_empty(), "{folder}: no sources");
    sources
}

/// No source below `folder` holds one of `words` outside its tests and comments, unless its path ends with one of
/// `but_for`.
fn never(folder: &str, words: &[&str], but_for: &[&str]) {
    let mut found = Vec::new();
    for (path, text) in sources(folder) {
        if but_for.iter().any(|end| path.ends_with(end)) {
            continue;
        }
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let named = words.iter().filter(|word| line.contains(**word));
            found.extend(named.map(|word| format!("{}:{}: {word}", path.display(), at + 1)));
        }
    }
    assert!(found.is_empty(), "not here:\n{}", found.join("\n"));
}

/// The crates of coho that a crate's manifest names for more than tests.
fn dependencies(folder: &Path) -> BTreeSet<String> {
    let mut of_all = false;
    let mut names = BTreeSet::new();
    for line in read(&folder.join("Cargo.toml")).lines() {
        if line.starts_with('[') {
            of_all = line.ends_with("dependencies]") && !line.contains("dev-dependencies");
        } else if let Some(rest) = line.strip_prefix("coho-").filter(|_| of_all) {
            let end = rest.find(['.', ' ', '=']).unwrap_or(rest.len());
            names.insert(rest[..end].to_owned());
        }
    }
    names
}

/// The table of crates in CONTRIBUTING.md: what each uses.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let quoted =
        |cell: &str| -> BTreeSet<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').collect();
        let [name, _, uses] = cells[..] else { return None };
        Some((quoted(name).pop_first()?, quoted(uses)))
    };
    let page = read(&root().join("CONTRIBUTING.md"));
    page.lines().filter(|line| line.starts_with("| `")).filter_map(row).collect()
}

#[test]
fn a_crate_uses_those_that_the_table_names_and_no_others() {
    let table = table();
    let mut folders = BTreeSet::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        // What nobody installs, such as this crate, is not in the table.
        if !folder.join("Cargo.toml").is_file()
            || read(&folder.join("Cargo.toml")).contains("publish = false") && !table.contains_key(&name)
        {
            continue;
        }
        let told = table.get(&name).unwrap_or_else(|| panic!("CONTRIBUTING.md's table lacks {name}"));
        assert_eq!(dependencies(&folder), *told, "{name}: its manifest, and CONTRIBUTING.md's table");
        folders.insert(name);
    }
    let gone: Vec<_> = table.keys().filter(|name| !folders.contains(*name)).collect();
    assert!(gone.is_empty(), "CONTRIBUTING.md's table has crates that are gone: {gone:?}");
}

/// What a crate uses, itself or through others.
fn reach(of: &str, table: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = table[of].iter().collect();
    while let Some(name) = open.pop() {
        if reached.insert(name.clone()) {
            open.extend(&table[name]);
        }
    }
    reached
}

#[test]
fn arrows_lead_one_way() {
    let table = table();
    for name in table.keys() {
        assert!(!reach(name, &table).contains(name), "{name} uses itself through others");
    }
    let never = |name: &str, others: &[&str]| {
        let reached = reach(name, &table);
        let wrong: Vec<_> = others.iter().filter(|other| reached.contains(**other)).collect();
        assert!(wrong.is_empty(), "{name} uses {wrong:?}");
    };
    never("probe", &["model", "show", "run", "cli"]);
    never("model", &["probe", "workloads", "counters", "delegate", "show", "run", "cli"]);
    never("show", &["probe", "workloads", "counters", "delegate", "run", "cli"]);
    never("workloads", &["profile", "probe", "model"]);
    never("profile", &["probe", "model"]);
}

#[test]
fn the_model_and_what_shows_it_measure_nothing() {
    let measuring = ["Instant::now", "SystemTime::now", "Command::new", "thread::spawn", "unsafe "];
    never("model/src", &measuring, &[]);
    never("show/src", &measuring, &[]);
}

#[test]
fn the_model_writes_into_no_section() {
    let profile = read(&root().join("crates/profile/src/profile.rs"));
    let listed = profile.split_once("\nsections! {\n").and_then(|(_, rest)| rest.split("\n}\n").next());
    // `contention: Contention,`
    let rows = listed.expect("the list of sections").lines().filter(|line| !line.contains("///"));
    let sections = rows.filter_map(|row| row.trim_end_matches(',').split(": ").nth(1)).chain(["Profile"]);
    let taken = sections.flat_map(|name| [",", ")", ">"].map(|end| format!("&mut {name}{end}")));
    let taken: Vec<String> = taken.collect();
    assert!(taken.len() > 30, "{taken:?}");
    never("model/src", &taken.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
}

#[test]
fn a_renderer_knows_no_section_and_a_section_no_renderer() {
    never("show/src/render", &["sections::", "Profile", "Answers", "Subject"], &[]);
    never("show/src/sections", &["render::"], &[]);
}

#[test]
fn the_command_writes_no_json_by_hand() {
    never("cli/src", &["json!"], &[]);
    never("cli/src", &["unsafe "], &[]);
}
