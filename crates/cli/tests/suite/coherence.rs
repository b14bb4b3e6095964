//! `coho coherence` as scripts and people call it.

use std::collections::BTreeSet;

use coho_testing::{Capability, needs};
use serde_json::{Value, json};

use crate::support::{assert_refuses, assert_valid, fails, first_cpus, json as parse, run, succeeds};

/// Two L3s of four CPUs each, as FreeBSD tells of them.
const APART: &str = r#"<groups><group level="1" cache-level="0"><cpu count="8" mask="ff">0, 1, 2, 3, 4, 5, 6, 7</cpu>
<children><group level="2" cache-level="3"><cpu count="4" mask="f">0, 1, 2, 3</cpu></group>
<group level="2" cache-level="3"><cpu count="4" mask="f0">4, 5, 6, 7</cpu></group></children></group></groups>"#;

fn matrix(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("matrix.csv");
    std::fs::write(&path, text).unwrap();
    let name = path.to_string_lossy().into_owned();
    (folder, name)
}

fn section(text: &str) -> Value {
    let section = parse(text);
    assert_valid(&json!({"schema": "coho-profile/1", "coherence": section}));
    section
}

#[test]
fn classes_of_a_matrix() {
    let (_folder, name) = matrix("\n25\n90,92\n91,93,26\n");
    let found = section(&succeeds(&["coherence", "--from", &name, "--json"]));
    assert_eq!(found["verdict"], "hops");
    assert_eq!(found["levels"][0]["groups"], json!([[0, 1], [2, 3]]));
    assert_eq!(found["classes"][0]["pairs"], 2);
    assert_eq!(found["pairs"].as_array().unwrap().len(), 6);
    let told = succeeds(&["coherence", "--from", &name]);
    assert!(told.contains("2 groups") && told.lines().all(|line| line.chars().count() <= 80), "{told}");
}

#[test]
fn a_matrix_is_held_against_a_topology() {
    let data = |path: &str| coho_testing::data(path).to_string_lossy().into_owned();
    let matrix = data("matrices/kcores_AMD_FX-8300_8-Core_Processor_by-kassane.csv");
    let topology = data("cpuid/AMD-FX-8150.cpuid");
    let held = ["coherence", "--from", &matrix, "--topology", &topology];
    let found = section(&succeeds(&[&held[..], &["--json"]].concat()));
    assert_eq!((&found["claims"], &found["contradictions"]), (&json!([]), &json!([])));
    assert_eq!((&found["classes"][0]["name"], &found["stable"]), (&json!("module"), &Value::Null));
    let text = succeeds(&held);
    assert!(text.contains("no figure contradicts the claimed topology"), "{text}");
    // Beside each pair stands what is claimed of it.
    let text = succeeds(&[&held[..], &["--full"]].concat());
    let claimed = |section: &Value, b: u32| {
        let pairs = section["pairs"].as_array().unwrap();
        pairs.iter().find(|pair| pair["a"] == 0 && pair["b"] == b).unwrap()["claimed"].clone()
    };
    assert_eq!((claimed(&found, 1), claimed(&found, 7)), (json!("module"), json!("L3")));
    assert!(text.lines().any(|line| line.contains("CPU 0 C0 – 1 C1") && line.contains("module")), "{text}");
    let alone = section(&succeeds(&["coherence", "--from", &matrix, "--json"]));
    assert_eq!((&alone["contradictions"], &alone["stable"]), (&Value::Null, &Value::Null));
    assert!(!succeeds(&["coherence", "--from", &matrix]).contains("contradict"));
    // Also of a profile, in place of what another topology claimed.
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("p.json").to_string_lossy().into_owned();
    let apart = folder.path().join("apart.spec").to_string_lossy().into_owned();
    succeeds(&[&held[..], &["-o", &profile]].concat());
    std::fs::write(&apart, APART).unwrap();
    let again = section(&succeeds(&["coherence", "--from", &profile, "--topology", &apart, "--json"]));
    assert_eq!((claimed(&again, 1), claimed(&again, 7)), (json!("L3"), json!("NUMA node")));
    // A machine of other CPUs.
    let other = data("cpuid/AMD-K8-SantaRosa-2xOpteron-2218.cpuid");
    let error = fails(&["coherence", "--from", &matrix, "--topology", &other], 1);
    assert!(error.contains("CPU 4") && error.contains("0-3") && error.contains("kassane"), "{error}");
    fails(&["coherence", "--topology", &topology], 2);
}

/// A machine of two L3s and threads, of which one L3 and no threads are claimed.
#[test]
fn every_wrong_claim_is_named() {
    let data = |path: &str| coho_testing::data(path).to_string_lossy().into_owned();
    let matrix = data("matrices/nviennot_AMD_Ryzen_7_2700X_Eight-Core_Processor.csv");
    let folder = tempfile::tempdir().unwrap();
    let claim = |l3s: u32, threads: u32| {
        let set = |first: u32, n: u32| format!("0x{:x}", ((1u64 << n) - 1) << first);
        let object = |kind: &str, first: u32, n: u32, rest: &str, inner: String| {
            let set = set(first, n);
            format!("<object type=\"{kind}\" os_index=\"{first}\" cpuset=\"{set}\" {rest}>{inner}</object>")
        };
        let core = |first: u32| {
            let pus = (first..first + threads).map(|pu| object("PU", pu, 1, "", String::new()));
            object("Core", first, threads, "", pus.collect())
        };
        let per_l3 = 16 / l3s;
        let l3 = |at: u32| {
            let cores = (at * per_l3..(at + 1) * per_l3).step_by(threads as usize).map(core);
            object("L3Cache", at * per_l3, per_l3, "depth=\"3\" cache_size=\"8388608\"", cores.collect())
        };
        let package = object("Package", 0, 16, "", (0..l3s).map(l3).collect());
        let xml = format!("<topology version=\"2.0\">{}</topology>", object("Machine", 0, 16, "", package));
        let path = folder.path().join(format!("{l3s}-{threads}.xml"));
        std::fs::write(&path, xml).unwrap();
        path.to_string_lossy().into_owned()
    };
    for (l3s, threads, wrong) in
        [(2, 2, vec![]), (1, 2, vec!["l3"]), (2, 1, vec!["module"]), (1, 1, vec!["module", "l3"])]
    {
        let held = ["coherence", "--from", &matrix, "--topology", &claim(l3s, threads)];
        let found = section(&succeeds(&[&held[..], &["--json"]].concat()));
        let claims = found["claims"].as_array().unwrap();
        let levels: Vec<&str> = claims.iter().map(|claim| claim["level"].as_str().unwrap()).collect();
        assert_eq!(levels, wrong, "{l3s} {threads}: {claims:?}");
        let text = succeeds(&held);
        assert_eq!(text.contains("no figure contradicts the claimed topology"), wrong.is_empty(), "{text}");
        assert_eq!(text.matches("claimed: ").count(), wrong.len(), "{text}");
    }
}

/// What core-to-core-latency prints for people, as it is pasted.
#[test]
fn a_printed_table_is_read() {
    let data = |path: &str| coho_testing::data(path).to_string_lossy().into_owned();
    let found =
        section(&succeeds(&["coherence", "--from", &data("printed/loongson-3a6000hv.txt"), "--json"]));
    assert_eq!(found["levels"][0]["groups"], json!([[0, 1], [2, 3], [4, 5], [6, 7]]));
    let (_folder, name) = matrix(",25,90,91\n25,,91,92\n90,91,,26,91,92,26,\n");
    let error = fails(&["coherence", "--from", &name], 1);
    assert!(error.contains("line 3") && error.contains("run together"), "{error}");
}

#[test]
fn a_matrix_is_written_for_other_tools() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let name = "matrices/nviennot_Dual_Intel_R_Xeon_R_CPU_X5650_2.67GHz.csv";
    let recorded = coho_testing::data(name).to_string_lossy().into_owned();
    let (written, profile, again) = (file("written.csv"), file("profile.json"), file("again.csv"));
    succeeds(&["coherence", "--from", &recorded, "--matrix", &written, "-o", &profile]);
    // Theirs has every time twice, with as many decimals.
    let text = |path: &str| std::fs::read_to_string(path).unwrap();
    assert_eq!(text(&written), text(&recorded));
    succeeds(&["coherence", "--from", &profile, "--matrix", &again]);
    assert_eq!(text(&again), text(&recorded));
    fails(&["coherence", "--from", &recorded, "--matrix", &recorded], 2);
}

#[test]
fn what_is_wrong_is_named() {
    let (_folder, name) = matrix("\n25\n90,fast\n");
    let error = fails(&["coherence", "--from", &name, "--json"], 1);
    assert!(error.contains("matrix.csv") && error.contains("line 3") && error.contains("fast"), "{error}");
    let one = first_cpus(1);
    assert!(fails(&["coherence", "--cpus", &format!("{one},60000")], 1).contains("60000"));
    assert!(fails(&["coherence", "--cpus", &one], 1).contains("two CPUs"));
}

#[test]
fn a_pair_by_every_method() {
    needs!(Capability::TwoCpus);
    let found = section(&succeeds(&["coherence", "--json", "--quick", "--cpus", &first_cpus(2)]));
    let pairs = found["pairs"].as_array().unwrap();
    let methods: BTreeSet<_> = pairs.iter().map(|pair| pair["method"].as_str().unwrap()).collect();
    let is_whole = methods.into_iter().eq(["flags", "free-running", "turn"]);
    let mut reasons = found["method"]["not_available"].as_object().unwrap().keys();
    // Where others use the CPUs too, the two may never run at the same time.
    assert!(is_whole || reasons.any(|what| what.starts_with("pair ")), "{found}");
    for pair in pairs {
        let ns = &pair["ns"];
        assert!(ns["low"].as_f64() <= ns["median"].as_f64() && ns["median"].as_f64() <= ns["high"].as_f64());
        assert!(ns["min"].as_f64() > Some(0.0));
    }
    for single in found["singles"].as_array().unwrap() {
        assert!(
            single["locked_ns"]["median"].as_f64() > single["unlocked_ns"]["median"].as_f64(),
            "{single}"
        );
    }
    assert!(found["verdict"].is_string() && found["stable"].is_boolean());
}

#[test]
fn a_run_goes_on_from_where_one_ended() {
    needs!(Capability::TwoCpus);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("first.json").to_string_lossy().into_owned();
    let arguments = ["coherence", "--quick", "--no-reads", "--method", "turn", "--json"];
    let first = section(&succeeds(&[&arguments[..], &["-o", &file]].concat()));
    let again = section(&succeeds(&[&arguments[..], &["--resume", &file]].concat()));
    let stable = |pair: &&Value| pair["ns"]["stable"] == true;
    for pair in first["pairs"].as_array().unwrap().iter().filter(stable) {
        assert!(again["pairs"].as_array().unwrap().contains(pair), "a stable figure is kept as it was");
    }
}

#[test]
fn figures_of_another_machine_are_not_gone_on_with() {
    needs!(Capability::TwoCpus);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.json");
    let name = file.to_string_lossy().into_owned();
    succeeds(&["coherence", "--quick", "--no-reads", "--method", "turn", "-o", &name]);
    let mut other = coho_profile::Profile::read(&file).unwrap();
    other.host.as_mut().unwrap().cpu = Some("another CPU".into());
    other.write(&file).unwrap();
    let error = fails(&["coherence", "--quick", "--resume", &name], 1);
    assert!(error.contains("another CPU") && error.contains("other.json"), "{error}");
}

#[test]
fn another_section_of_the_profile_stays() {
    needs!(Capability::TwoCpus);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    std::fs::write(&file, r#"{"schema": "coho-profile/1", "calls": {"later": true}}"#).unwrap();
    let arguments = ["coherence", "--quick", "--no-reads", "--method", "turn", "--home", "a", "--cpus"];
    let (cpus, name) = (first_cpus(2), file.to_string_lossy());
    succeeds(&[&arguments[..], &[&*cpus, "-o", &*name]].concat());
    let profile = parse(&std::fs::read_to_string(&file).unwrap());
    assert_eq!(profile["calls"]["later"], true);
    let pairs = profile["coherence"]["pairs"].as_array().unwrap().len();
    let reasons = &profile["coherence"]["method"]["not_available"];
    let why = &reasons[format!("pair {}", cpus.replace('-', ","))];
    assert_eq!((pairs, why.is_string()), if pairs == 0 { (0, true) } else { (1, false) }, "{reasons}");
}

#[test]
fn watching_a_pair_tells_a_timeline() {
    needs!(Capability::TwoCpus);
    let output = run(&["coherence", "--watch-for", "1s", "--json"]);
    if output.status.success() {
        let found = section(&String::from_utf8(output.stdout).unwrap());
        let samples = found["timeline"]["samples"].as_array().unwrap();
        assert!(!samples.is_empty() && samples.iter().all(|one| one["ns"].as_f64() > Some(0.0)), "{found}");
        return;
    }
    // As it may be where others use the CPUs too.
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && errors.contains("never ran at the same time"), "{errors}");
}

#[test]
fn words_that_make_no_sense_are_named() {
    assert_refuses(&[
        ("coherence --cpus 0-99999999", 2, "99999999"),
        ("coherence --method ping-pong", 2, "turn"),
    ]);
}
