//! What steers a terminal is shown, never sent, whatever input it comes by.

use std::fs;
use std::path::Path;
use std::process::Output;

use coho_profile::{Coherence, Counters, Host, Profile};

use crate::support::{self, coho, measured};

/// Escapes, C0 and C1 controls, DEL, and marks, overrides and isolates of direction.
const HOSTILE: &str = "\u{1b}[31m\u{1b}]0;x\u{7}\u{8}\r\u{7f}\u{85}\u{9b}2J\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";

fn is_harmless(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c == '\n' || c == '\t' || !(c.is_control() || turns)
}

#[track_caller]
fn assert_harmless(text: &str) {
    if let Some(at) = text.find(|c| !is_harmless(c)) {
        panic!("{:?}", &text[at..].chars().take(40).collect::<String>());
    }
}

#[track_caller]
fn run(folder: &Path, arguments: &[&str]) -> Output {
    let done = coho(arguments).current_dir(folder).output().unwrap();
    for text in [&done.stdout, &done.stderr] {
        assert_harmless(&String::from_utf8(text.clone()).unwrap());
    }
    done
}

/// The same of a run whose message quotes the text.
#[track_caller]
fn shows(folder: &Path, arguments: &[&str]) {
    let done = run(folder, arguments);
    let all = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
    let shown = ["\\u{1b}", "\\u{202e}", "\\u202e"];
    assert!(shown.iter().any(|text| all.contains(text)), "{arguments:?}: {all}");
}

#[test]
fn arguments_and_file_names_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let absent = format!("absent{HOSTILE}");
    let at = folder.path();
    shows(at, &[&absent]);
    shows(at, &["coherence", &format!("--{HOSTILE}")]);
    shows(at, &["coherence", "--cpus", &absent]);
    shows(at, &["coherence", "--method", &absent]);
    shows(at, &["coherence", "--from", &absent]);
    shows(at, &["coherence", "--resume", &absent]);
    shows(at, &["memory", "--instructions", &absent, "--quick", "--time-limit", "1"]);
    shows(at, &["counters", "-o", &format!("{absent}/p.json")]);
    shows(at, &["survey", "-o", &format!("{absent}/p.json")]);
    shows(at, &["report", &absent]);
    shows(at, &["compare", &absent, &absent]);
    shows(at, &["predict", "cpi", &absent]);
    shows(at, &["topology", "--from", &absent]);
    shows(at, &["path", &absent]);
    shows(at, &["path", "fit", &absent]);
    shows(at, &["bench", &absent]);
    shows(at, &["schema", "--check", &absent]);
    shows(at, &["run", "--", &absent]);
    shows(at, &["run", "-p", "p.json", "--try", "none", "--", &absent]);
    shows(at, &["run", "-p", &absent, "--", "true"]);
    shows(at, &["run", "--place", &absent, "--", "true"]);
}

/// A name that would begin a line of its own.
#[test]
fn a_name_never_begins_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (name, absent) = ("p\nforged\u{1b}[31m", "absent\nforged\u{1b}[31m");
    profile().write(&at.join(name)).unwrap();
    fs::write(at.join("matrix\nforged"), ",25\n25,\n").unwrap();
    let new_page = format!("{name}.html");
    let in_absent = format!("{absent}/p.json");
    let commands: [&[&str]; 22] = [
        &[absent],
        &["coherence", "--from", absent],
        &["coherence", "--resume", absent],
        &["coherence", "--from", "matrix\nforged"],
        &["coherence", "--from", "matrix\nforged", "-o", name],
        &["coherence", "--cpus", absent],
        &["counters", "-o", &in_absent],
        &["survey", "-o", &in_absent],
        &["survey", "--quick", "--time-limit", "1ns", "-o", "new\nforged.json"],
        &["report", absent],
        &["report", name, "-o", &new_page],
        &["compare", name, name],
        &["predict", "cpi", name],
        &["predict", "barrier", absent],
        &["predict", "placement", "--from", absent],
        &["topology", "--from", absent],
        &["path", absent],
        &["path", "fit", absent],
        &["schema", "--check", name],
        &["run", "--", absent],
        &["run", "-p", "new.json", "--name", absent, "--try", "none", "--repeat", "1", "--", "true"],
        &["run", "--place", absent, "--", "true"],
    ];
    for arguments in commands {
        let done = run(at, arguments);
        let all = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
        assert!(!all.lines().any(|line| line.trim_start().starts_with("forged")), "{arguments:?}: {all}");
    }
}

#[test]
fn what_files_hold_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let word = serde_json::to_string(HOSTILE).unwrap();
    let write = |name: &str, text: &str| fs::write(at.join(name), text).unwrap();
    write(
        "enum.json",
        &format!(
            r#"{{"schema": "coho-profile/1", "coherence": {{"pairs": [{{"a": 0, "b": 1, "method": {word}}}]}}}}"#
        ),
    );
    write("schema.json", &format!(r#"{{"schema": "coho-profile/{}}}"#, &word[1..]));
    write("cell.csv", &format!("1,{HOSTILE}\n2,3\n"));
    write("pairs.csv", &format!("1,{HOSTILE}\n"));
    write("path.toml", &format!("[[stage]]\nname = {word}\nkind = {word}\n"));
    write("dump.txt", &format!("CPU 0:\n   0x00000000 0x00: {HOSTILE}\n"));
    for file in ["enum.json", "schema.json"] {
        shows(at, &["compare", file, file]);
        shows(at, &["coherence", "--resume", file]);
    }
    run(at, &["coherence", "--from", "cell.csv"]);
    run(at, &["path", "fit", "pairs.csv"]);
    run(at, &["path", "path.toml"]);
    run(at, &["topology", "--from", "dump.txt"]);
}

/// A profile with hostile text wherever text may stand.
fn profile() -> Profile {
    let host = Host {
        cpu: Some(HOSTILE.into()),
        hypervisor: Some(HOSTILE.into()),
        kernel: Some(HOSTILE.into()),
        ..Host::default()
    };
    let mut coherence = Coherence { notes: vec![HOSTILE.into()], ..measured().coherence.unwrap() };
    for pair in &mut coherence.pairs {
        pair.claimed = Some(HOSTILE.into());
    }
    coherence.method.description = HOSTILE.into();
    coherence.method.not_available.insert(HOSTILE.into(), HOSTILE.into());
    let mut counters = Counters::default();
    counters.method.not_available.insert(HOSTILE.into(), HOSTILE.into());
    Profile { host: Some(host), coherence: Some(coherence), counters: Some(counters), ..measured() }
}

#[test]
fn what_a_profile_says_is_shown_on_terminals_and_pages() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let name = format!("p{HOSTILE}.json");
    profile().write(&at.join(&name)).unwrap();
    profile().write(&at.join("q.json")).unwrap();
    shows(at, &["compare", &name, "q.json"]);
    shows(at, &["compare", "--json", &name, "q.json"]);
    shows(at, &["report", &name, "q.json", "-o", "page.html", "--svg", &format!("charts{HOSTILE}")]);
    let page = fs::read_to_string(at.join("page.html")).unwrap();
    assert!(page.contains("u{202e}"));
    // The drawing library that every page brings may name such characters.
    let (head, rest) = page.split_once("<script>").unwrap_or((&page, ""));
    let tail = rest.rsplit_once("<script type=\"application/json\"").map_or("", |(_, tail)| tail);
    assert_harmless(head);
    assert_harmless(tail);
}

#[test]
fn what_a_machine_is_called_is_shown_and_means_the_same_to_programs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run_json = |arguments: &[&str]| {
        let done = run(at, arguments);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let mut machine: serde_json::Value = serde_json::from_str(&run_json(&["topology", "--json"])).unwrap();
    machine["cpu"]["brand"] = HOSTILE.into();
    fs::write(at.join("machine.json"), machine.to_string()).unwrap();
    let again = run_json(&["topology", "--from", "machine.json", "--json"]);
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    // Reading drops control characters; what is left means what it meant.
    let kept: String = HOSTILE.chars().filter(|c| !c.is_control()).collect();
    assert_eq!(again["cpu"]["brand"], kept);
    for format in ["tree", "hwloc-xml"] {
        run(at, &["topology", "--from", "machine.json", "--format", format]);
    }
}

/// Every sign of print has its like in ASCII, and lines keep to the width.
#[test]
fn a_locale_without_utf_8_and_a_narrow_terminal_get_what_they_can_show() {
    let machine = support::saved(&support::measured());
    let shown: &[&[&str]] = &[
        &["doctor"],
        &["findings", "mine.json", "--full"],
        &["findings", "published:kawabe-furuya/x7560"],
        &["topology"],
        &["compare", "mine.json", "published:kawabe-furuya/x7560", "--full"],
        &["compare", "--claims", "mine.json"],
        &["papers", "nakamura-fbs", "-p", "mine.json"],
        &["predict", "placement"],
        &["predict", "barrier", "published:kawabe-furuya/x7560", "--threads", "64"],
        &["path", "dimmnet"],
        &["run", "--place", "compact", "--", "true"],
        &["run", "--help"],
        &["survey", "--help"],
        &["--help"],
        &[],
        &["run", "--place", "…×", "--", "true"],
    ];
    for arguments in shown {
        let mut command = coho(arguments);
        let done =
            command.current_dir(machine.path()).env("LC_ALL", "C").env("COLUMNS", "60").output().unwrap();
        for stream in [&done.stdout, &done.stderr] {
            let text = String::from_utf8_lossy(stream);
            let strange: Vec<&str> = text.lines().filter(|line| !line.is_ascii()).collect();
            assert!(strange.is_empty(), "{arguments:?}: {strange:#?}");
        }
        let text = String::from_utf8_lossy(&done.stdout);
        assert!(!text.contains('\u{1b}'), "{arguments:?}: colours in a pipe");
        // A command's help ends with examples, each on a line of its own.
        let is_help = arguments.len() > 1 && arguments.contains(&"--help");
        let wide: Vec<&str> = text.lines().filter(|line| !is_help && line.chars().count() > 60).collect();
        assert!(wide.is_empty(), "{arguments:?}: {wide:#?}");
    }
    // Programs read UTF-8 whatever the locale.
    let json = |locale| {
        let mut command = coho(&["findings", "mine.json", "--json"]);
        command.current_dir(machine.path()).env("LC_ALL", locale).output().unwrap().stdout
    };
    assert_eq!(json("C"), json("C.UTF-8"));
}
