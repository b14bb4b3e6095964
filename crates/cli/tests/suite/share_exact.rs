//! `coho share --exact`: what threads do to the lines that they share, counted.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use coho_testing::{Capability, needs};

use crate::support::{coho, json};

fn compiled(name: &str, options: &[&str]) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../share-exact/tests/programs/exact.c");
    let mut compiler = Command::new("gcc");
    compiler.args(["-O1", "-g", "-w", "-pthread", "-o"]).arg(&program).arg(source).args(options);
    assert!(compiler.status().unwrap().success());
    program
}

#[test]
fn counts_stand_with_threads_bytes_fields_and_source_lines_and_no_cost() {
    needs!(Capability::Gcc, Capability::TwoCpus);
    let program = compiled("share-exact", &["-fsanitize=thread"]);
    let _alone = coho_testing::alone();
    let output =
        coho(&["share", "--exact", "--json", "--"]).arg(&program).args(["once", "2000000"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let share = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(share["exact"], true, "{share}");
    let why = share["total"]["why_not"].as_str().unwrap();
    assert!(share["total"]["share_of_cpu_time"].is_null() && why.contains("without --exact"), "{why}");
    let lines = share["lines"].as_array().unwrap();
    let Some(line) = lines.iter().find(|line| line["object"] == "global words") else {
        // Other work may keep the threads from running at the same time.
        return;
    };
    assert!(line["cost_share"].is_null() && line["why_not"].is_string(), "{line}");
    assert_eq!((line["kind"].as_str(), line["threads"].as_u64()), (Some("false"), Some(2)), "{line}");
    assert!(line["at"][0].as_str().is_some_and(|at| at.starts_with("exact.c:")), "{line}");
    let part =
        |name: &str| line["parts"].as_array().unwrap().iter().find(|part| part["name"] == name).unwrap();
    for name in ["words[0]", "words[1]"] {
        let counts = part(name)["counts"].as_array().unwrap();
        let all = |what: &str| counts.iter().map(|count| count[what].as_u64().unwrap()).sum::<u64>();
        assert!(all("writes") == 2_000_000 && (2_000_000..2_000_003).contains(&all("reads")), "{line}");
        let writers = counts.iter().filter(|count| count["writes"].as_u64() > Some(0));
        assert_eq!(writers.count(), 1, "{line}");
    }
}

/// What a run that cannot count says.
fn refused(program: &Path) -> String {
    let output = coho(&["share", "--exact", "--"]).arg(program).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "it does not run: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn programs_whose_accesses_cannot_be_counted_do_not_run_and_it_is_said_why() {
    needs!(Capability::Gcc);
    let plain = refused(&compiled("share-exact-plain", &[]));
    assert!(plain.contains("was not built with -fsanitize=thread"), "{plain}");
    let own = refused(&compiled("share-exact-own", &["-fsanitize=thread", "-static-libtsan"]));
    assert!(own.contains("not available: ") && own.contains("is a part of it"), "{own}");
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/bin/sh\necho ran\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(refused(&script).contains("name the program itself"));
    assert!(refused("/no/such/program".as_ref()).contains("there is no such program"));
    let privileged = compiled("share-exact-privileged", &["-fsanitize=thread"]);
    std::fs::set_permissions(&privileged, std::fs::Permissions::from_mode(0o4755)).unwrap();
    let privileged = refused(&privileged);
    assert!(privileged.contains("more rights than its user"), "{privileged}");
    let both = coho(&["share", "--exact", "--attach", "1"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2), "{both:?}");
}

#[test]
fn the_program_reads_its_input() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("copy.c"), folder.path().join("copy"));
    let code =
        "#include <stdio.h>\nint main(void) { for (int c; (c = getchar()) != EOF;) putchar(c); return 0; }\n";
    std::fs::write(&source, code).unwrap();
    let mut compiler = Command::new("gcc");
    assert!(
        compiler.args(["-fsanitize=thread", "-o"]).arg(&program).arg(&source).status().unwrap().success()
    );
    let mut command = coho(&["share", "--exact", "--"]);
    let mut running = command.arg(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    running.stdin.take().unwrap().write_all(b"what it reads\n").unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.starts_with(b"what it reads\n"), "{output:?}");
}

#[test]
fn a_program_that_fails_keeps_its_status() {
    needs!(Capability::Gcc);
    let program = compiled("share-exact-fails", &["-fsanitize=thread"]);
    let output = coho(&["share", "--exact", "--"]).arg(&program).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
