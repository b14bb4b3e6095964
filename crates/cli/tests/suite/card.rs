//! `coho card`: small, whole by itself, and without anything private.

use std::fs;
use std::path::Path;

use coho_profile::{Home, Host, PairMethod, Profile};

use crate::report_profiles::{self, Shape};
use crate::support::{coho, json, saved, succeeds_in};

/// What a profile may hold that nobody wants to paste.
const PRIVATE: [&str; 5] = ["node17-secret", "SERIAL-4711", "/home/jane", "jane@builder", "10.1.2.3"];

fn with_private_names() -> Profile {
    let shape = Shape { packages: 2, l3s: 2, cores: 2, threads: 1 };
    let mut profile = report_profiles::profile(&shape, &[(PairMethod::Turn, Home::A)]);
    let [host, serial, path, user, address] = PRIVATE.map(str::to_owned);
    profile.host = Some(Host {
        cpu: Some("Example CPU".into()),
        kernel: Some(format!("Linux 6.1.0 #1 ({user}) on {host}")),
        firmware: Some(serial.clone()),
        os: Some(host.clone()),
        limits: [("cpuset".to_owned(), path.clone())].into(),
        mitigations: [("meltdown".to_owned(), "Mitigation: PTI".to_owned())].into(),
        not_available: [("boost".to_owned(), path.clone())].into(),
        unknown: [("hostname".to_owned(), host.into()), ("address".to_owned(), address.into())].into(),
        ..Host::default()
    });
    profile.coherence.as_mut().unwrap().method.not_available.insert("history".into(), path);
    profile
}

#[test]
fn a_card_shows_the_machine_and_nothing_private() {
    let folder = saved(&with_private_names());
    fs::rename(folder.path().join("mine.json"), folder.path().join("node17-secret.json")).unwrap();
    succeeds_in(
        folder.path(),
        &["card", "-p", "node17-secret.json", "-o", "card.svg", "--json", "card.json"],
    );
    let [svg, object] =
        ["card.svg", "card.json"].map(|name| fs::read_to_string(folder.path().join(name)).unwrap());
    for text in [&svg, &object] {
        for private in PRIVATE {
            assert!(!text.contains(private), "{private}: {text}");
        }
        assert!(
            text.contains("Example CPU") && text.contains("meltdown") && text.contains("Linux 6.1.0"),
            "{text}"
        );
    }
    assert!(svg.contains("not measured") && svg.contains("prefers-color-scheme:dark"), "{svg}");
    let value = json(&object);
    assert_eq!(value["pairs"].as_array().unwrap().len(), 28);
    let rows = value["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["figure"]["unit"] == "ns"), "{object}");
    assert!(rows.iter().any(|row| row.get("figure").is_none()), "what is missing is named: {object}");

    // Without a name of the CPU, the file's name does not stand in for it.
    let mut profile = with_private_names();
    profile.host = None;
    profile.write(&folder.path().join("node17-secret.json")).unwrap();
    succeeds_in(folder.path(), &["card", "node17-secret.json", "-o", "card.svg"]);
    let svg = fs::read_to_string(folder.path().join("card.svg")).unwrap();
    assert!(!svg.contains("node17") && svg.contains("unknown CPU"), "{svg}");
}

#[test]
fn cards_are_small_and_load_nothing_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let matrices = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/matrices");
    let large = matrices.join("nviennot_AMD_EPYC_7R13_48-Core_Processor.csv");
    let matrix = coho_model::Matrix::parse(&fs::read_to_string(large).unwrap()).unwrap();
    let coherence = Some(coho_model::coherence_from_matrix(&matrix));
    Profile { coherence, ..Profile::default() }.write(&folder.path().join("large.json")).unwrap();
    const PAPER: &str = "published:kawabe-furuya/x7560";
    for names in [&["large.json"][..], &[PAPER], &["large.json", PAPER]] {
        let mut words = vec!["card"];
        words.extend(names);
        words.extend(["-o", "card.svg", "--json", "card.json"]);
        succeeds_in(folder.path(), &words);
        let [svg, object] =
            ["card.svg", "card.json"].map(|name| fs::read_to_string(folder.path().join(name)).unwrap());
        assert!(svg.len() <= 100_000, "{} bytes", svg.len());
        assert!(object.len() <= 4_096 * names.len(), "{} bytes", object.len());
        let others = svg.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !others.contains("<script") && !others.contains("http") && !others.contains("@import"),
            "{names:?}"
        );
    }
}

#[test]
fn without_a_profile_the_error_names_the_way_to_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = coho(&["card"]);
    let output = command.current_dir(folder.path()).env("XDG_STATE_HOME", folder.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("coho survey"), "{said}");
}
