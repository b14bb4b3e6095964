//! The Python module reads profiles by the command.

use std::process::{Command, Output};

use coho_profile::published;
use coho_testing::{Capability, needs};

use crate::support::{json, succeeds};

/// A program that has the module, and this build's command in PATH.
fn python(program: &str) -> Output {
    let command = std::path::Path::new(env!("CARGO_BIN_EXE_coho"));
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("python3")
        .args(["-c", program])
        .env("PYTHONPATH", concat!(env!("CARGO_MANIFEST_DIR"), "/../../python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PATH", format!("{}:{path}", command.parent().unwrap().display()))
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap()
}

#[test]
fn a_profile_is_read_with_all_its_figures() {
    needs!(Capability::Python);
    let folder = tempfile::tempdir().unwrap();
    // A name that could be taken for an option.
    let file = folder.path().join("-p.json");
    std::fs::write(&file, published::read("nakamura-fbs").unwrap().machines[0].1.to_json()).unwrap();
    let name = file.to_str().unwrap();
    let program = format!(
        "import coho, json\np = coho.read({name:?})\nassert p.content['schema'] == 'coho-profile/1'\n\
         assert [f.median for f in p.figures] == [r['median'] for r in p.rows()]\n\
         assert any('parameter.threads' in r for r in p.rows())\n\
         print(json.dumps([[f.key, dict(f.parameters), f.median, f.n, f.unit] for f in p.figures]))"
    );
    let done = python(&program);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let read: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let rows = json(&succeeds(&["figures", "--json", name]));
    let rows: Vec<serde_json::Value> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            ["key", "parameters", "median", "n", "unit"].map(|field| row[field].clone()).to_vec().into()
        })
        .collect();
    assert!(!rows.is_empty());
    assert_eq!(read.as_array().unwrap(), &rows);
}

#[test]
fn what_is_no_profile_is_named() {
    needs!(Capability::Python);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.json");
    std::fs::write(&file, r#"{"schema": "coho-profile/9"}"#).unwrap();
    let name = file.to_str().unwrap();
    let program = format!(
        "import coho\ntry:\n    coho.read({name:?})\nexcept coho.Error as error:\n    print(error)\n\
         try:\n    coho.read({:?})\nexcept FileNotFoundError:\n    print('absent')",
        folder.path().join("none.json")
    );
    let done = python(&program);
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(said.contains("coho-profile/9") && said.ends_with("absent\n"), "{said} {done:?}");
}
