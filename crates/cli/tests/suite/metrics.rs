//! What Prometheus reads: the metrics of a survey and of a fleet, and the alerts and the dashboard that ask for them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use coho_model::fleet::Surveyed;
use coho_show::fleet::metrics_of;
use coho_testing::{Capability, needs};

use crate::generate;
use crate::support::{json, output_in};

fn packaged(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/prometheus").join(name)
}

/// The metrics of a machine's survey, and those of the report on two machines.
fn both() -> [String; 2] {
    let mut of_one = Vec::new();
    let made = generate::machine(7, 1, false);
    metrics_of(&mut of_one, Surveyed::of("", "", &made.profile)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for number in 0..2 {
        let made = generate::machine(7, number, false);
        made.profile.write(&folder.path().join(format!("{}.json", made.name))).unwrap();
    }
    output_in(folder.path(), &["fleet", "report", ".", "-o", "out"]);
    [String::from_utf8(of_one).unwrap(), fs::read_to_string(folder.path().join("out/fleet.prom")).unwrap()]
}

/// The names of coho's that a text holds.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("coho_")).collect()
}

#[test]
fn alerts_and_the_dashboard_ask_for_what_is_written() {
    let [of_one, of_fleet] = both();
    let is_in_order = of_one.starts_with("# HELP coho_survey_info ") && of_one.ends_with("\n# EOF\n");
    assert!(is_in_order && !of_one.contains("machine="), "{of_one}");
    let mut written = names(&of_one);
    written.extend(names(&of_fleet));
    let dashboard = fs::read_to_string(packaged("dashboard.json")).unwrap();
    let panels = json(&dashboard)["panels"].as_array().unwrap().len();
    let alerts = fs::read_to_string(packaged("alerts.yml")).unwrap();
    for asked in [names(&dashboard), names(&alerts)] {
        assert!(asked.len() >= 4 && asked.is_subset(&written), "{asked:?} of {written:?}");
    }
    assert_eq!(panels, 8);
}

#[test]
fn promtool_has_nothing_to_say_against_them() {
    needs!(Capability::Promtool);
    let promtool = |arguments: &[&str], input: &str| {
        use std::io::Write;
        let mut command = Command::new("promtool");
        let command =
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    for metrics in both() {
        assert_eq!(promtool(&["check", "metrics"], &metrics), (Some(0), String::new()));
    }
    let (status, errors) = promtool(&["check", "rules", &packaged("alerts.yml").to_string_lossy()], "");
    assert_eq!(status, Some(0), "{errors}");
}
