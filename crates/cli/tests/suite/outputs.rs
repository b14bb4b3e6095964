//! Where results go is looked at before anything is measured, and nothing that is there is lost.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Output, Stdio};

use coho_profile::Profile;
use serde_json::Value;

use crate::support::{MEASURING, coho, json, succeeds};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    coho(arguments).current_dir(folder).output().unwrap()
}

/// Asserts a failure that names the file, and that nothing was printed.
#[track_caller]
fn assert_refused(done: &Output, name: &str) {
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(matches!(done.status.code(), Some(1 | 2)), "{:?} {errors}", done.status);
    assert!(errors.contains(name) && done.stdout.is_empty(), "{errors}");
}

#[test]
fn what_is_no_profile_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("letter.txt"), "Dear Sir or Madam").unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    let name = folder.path().join("pipe").to_string_lossy().into_owned();
    let pipe = std::ffi::CString::new(name).unwrap();
    // SAFETY: a path that ends in NUL.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    for command in MEASURING.iter() {
        for output in ["letter.txt", "folder", "pipe", "absent/p.json", "/dev/zero", "/dev/full"] {
            // Measuring with these would take minutes; a refusal takes no time to speak of.
            assert_refused(&run(folder.path(), &[command, &["-o", output][..]].concat()), output);
        }
    }
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 3);
    assert_eq!(fs::read_to_string(folder.path().join("letter.txt")).unwrap(), "Dear Sir or Madam");
}

#[test]
fn a_trial_that_cannot_be_remembered_does_not_begin() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = coho(&["run", "--try", "none", "--", "touch", "ran"]);
    let done = command.current_dir(folder.path()).env_remove("HOME").env_remove("XDG_STATE_HOME");
    assert_refused(&done.output().unwrap(), "--profile");
    let trial = ["run", "-p", "absent/p.json", "--try", "none", "--", "touch", "ran"];
    assert_refused(&run(folder.path(), &trial), "absent");
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn trials_at_the_same_time_are_all_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let start = |n: usize| {
        let name = format!("command-{n}");
        let trial = ["run", "-p", "p.json", "--repeat", "1", "--name", &name, "--try", "none", "--", "true"];
        coho(&trial).current_dir(folder.path()).stdout(Stdio::null()).spawn().unwrap()
    };
    let all: Vec<_> = (0..8).map(start).collect();
    for mut one in all {
        assert!(one.wait().unwrap().success());
    }
    let remembered = Profile::read(&folder.path().join("p.json")).unwrap().run.unwrap().commands;
    assert_eq!(remembered.len(), 8, "{:?}", remembered.keys());
}

#[test]
fn a_page_that_the_user_has_not_named_is_replaced_only_if_it_is_a_report() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("index.html"), "<h1>Mine</h1>").unwrap();
    assert_refused(&run(folder.path(), &["survey", "-o", "index.json"]), "index.html");
    assert_eq!(fs::read_to_string(folder.path().join("index.html")).unwrap(), "<h1>Mine</h1>");
    fs::rename(folder.path().join("index.html"), folder.path().join("report.html")).unwrap();
    assert_refused(&run(folder.path(), &["report", "published:kawabe-furuya/e5620"]), "report.html");
    assert_eq!(fs::read_to_string(folder.path().join("report.html")).unwrap(), "<h1>Mine</h1>");
    for report in ["/dev/absent/r.html", "absent/r.html"] {
        assert_refused(&run(folder.path(), &["survey", "-o", "p.json", "--report", report]), "absent");
    }
    assert!(!folder.path().join("p.json").exists());
}

#[test]
fn links_are_followed_only_where_the_user_has_named_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let read = |name: &str| fs::read_to_string(at(name)).unwrap();
    let paper = "published:kawabe-furuya/e5620";
    for made in ["csv", "svg", "man"] {
        fs::create_dir(at(made)).unwrap();
    }
    let links = ["csv/host.csv", "svg/topology.svg", "man/coho.1", "report.html", "p.html"];
    for link in links {
        fs::write(at("precious"), "precious").unwrap();
        symlink(at("precious"), at(link)).unwrap();
    }
    let csv = ["report", paper, "-o", "page.html", "--csv", "csv"];
    let svg = ["report", paper, "-o", "page.html", "--svg", "svg"];
    let others: [&[&str]; 5] =
        [&csv, &svg, &["man", "--all", "man"], &["report", paper], &["survey", "-o", "p.json"]];
    for (arguments, link) in others.into_iter().zip(links) {
        let done = run(folder.path(), arguments);
        let errors = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{arguments:?}: {errors}");
        assert!(errors.contains(link) && errors.contains("symbolic link"), "{errors}");
        assert!(at(link).is_symlink());
        assert_eq!(read("precious"), "precious", "{arguments:?}");
    }

    fs::write(at("matrix.csv"), ",25\n25,\n").unwrap();
    symlink("target", at("link")).unwrap();
    let named: [&[&str]; 4] = [
        &["report", paper, "-o", "link"],
        &["coherence", "--from", "matrix.csv", "--matrix", "link"],
        &["topology", "-o", "link"],
        &["predict", "cpi", "--svg", "link"],
    ];
    for arguments in named {
        fs::write(at("target"), "old").unwrap();
        let done = run(folder.path(), arguments);
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(at("link").is_symlink() && read("target") != "old", "{arguments:?}");
    }
}

#[test]
fn no_profile_mixes_two_machines() {
    let folder = tempfile::tempdir().unwrap();
    let text = |cpu: &str, section: &str| {
        format!(r#"{{"schema": "coho-profile/1", "host": {{"cpu": "{cpu}"}}, {section}}}"#)
    };
    let theirs = text("Another CPU", r#""coherence": {"notes": ["theirs"]}"#);
    let file = |name: &str| folder.path().join(name);
    fs::write(file("p.json"), &theirs).unwrap();
    for command in MEASURING.iter() {
        assert_refused(&run(folder.path(), &[command, &["-o", "p.json"][..]].concat()), "Another CPU");
    }
    let commands: [&[&str]; 2] = [
        &["idle", "--disable", "C6", "-o", "p.json", "--", "touch", "ran"],
        &["run", "-p", "p.json", "--try", "none", "--", "touch", "ran"],
    ];
    for command in commands {
        assert_refused(&run(folder.path(), command), "Another CPU");
    }
    assert!(!file("ran").exists());
    // What is read names another machine, or none.
    fs::write(file("matrix.csv"), ",25\n25,\n").unwrap();
    fs::write(file("third.json"), text("A third CPU", r#""coherence": {}"#)).unwrap();
    for (from, why) in [("matrix.csv", "does not name its machine"), ("third.json", "A third CPU")] {
        let done = run(folder.path(), &["coherence", "--from", from, "-o", "p.json"]);
        assert_refused(&done, "Another CPU");
        assert_refused(&done, why);
    }
    assert_eq!(fs::read_to_string(file("p.json")).unwrap(), theirs);
    fs::write(file("same.json"), text("Another CPU", r#""coherence": {"notes": ["newer"]}"#)).unwrap();
    assert!(run(folder.path(), &["coherence", "--from", "same.json", "-o", "p.json"]).status.success());
    assert!(fs::read_to_string(file("p.json")).unwrap().contains("newer"));
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_that_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("matrix.csv"), ",25\n25,\n").unwrap();
    let writing: [&[&str]; 5] = [
        &["survey", "-o", "out"],
        &["topology", "-o", "out"],
        &["report", "published:kawabe-furuya/e5620", "-o", "out"],
        &["coherence", "--from", "matrix.csv", "-o", "out"],
        &["coherence", "--from", "matrix.csv", "--matrix", "out"],
    ];
    for arguments in writing {
        let mut command = coho(arguments);
        let limited = || {
            let limit = libc::rlimit { rlim_cur: 4, rlim_max: 4 };
            // SAFETY: two system calls, one of which reads the structure.
            let done = unsafe {
                libc::signal(libc::SIGXFSZ, libc::SIG_DFL) != libc::SIG_ERR
                    && libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) == 0
            };
            if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        };
        // SAFETY: it makes system calls alone.
        let done = unsafe { command.pre_exec(limited) }.current_dir(folder.path()).output().unwrap();
        assert_refused(&done, "out: File too large");
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(left, ["matrix.csv"], "{arguments:?}");
    }
}

#[test]
fn a_hyphen_is_standard_output_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let paper = "published:kawabe-furuya/e5620";
    let page = run(folder.path(), &["report", paper, "-o", "-"]);
    assert!(page.status.success() && page.stderr.is_empty());
    let named = run(folder.path(), &["report", paper, "-o", "page.html"]);
    assert!(named.status.success());
    assert!(page.stdout == fs::read(folder.path().join("page.html")).unwrap());
    fs::remove_file(folder.path().join("page.html")).unwrap();
    let tree = run(folder.path(), &["topology", "-o", "-"]);
    assert!(tree.status.success());
    assert_eq!(tree.stdout, run(folder.path(), &["topology"]).stdout);
    let others: [&[&str]; 5] = [
        &["survey", "--report", "-"],
        &["coherence", "--matrix", "-"],
        &["predict", "cpi", "--svg", "-"],
        &["report", paper, "--svg", "-"],
        &["run", "-p", "-", "--try", "none", "--", "true"],
    ];
    let measuring = MEASURING.iter().map(|command| [command, &["-o", "-"][..]].concat());
    for arguments in others.map(<[_]>::to_vec).into_iter().chain(measuring) {
        let done = run(folder.path(), &arguments);
        assert_refused(&done, "./-");
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Scripts name figures by these keys.
#[test]
fn quantities_keep_their_keys_and_their_order() {
    let listed = coho(&["schema", "--figures"]).output().unwrap();
    let known = include_str!("../../../profile/figures.tsv");
    let listed = String::from_utf8_lossy(&listed.stdout);
    assert!(listed == known, "`coho schema --figures >crates/profile/figures.tsv` writes them anew");
    assert!(known.lines().all(|line| line.split('\t').count() == 5));
}

#[test]
fn figures_are_rows_of_known_keys() {
    let of = ["figures", "published:nakamura-fbs", "published:kawabe-furuya/e5620"];
    let rows = json(&succeeds(&[&of[..], &["--json"]].concat()));
    let rows = rows.as_array().unwrap();
    let known: Vec<&str> = include_str!("../../../profile/figures.tsv").lines().collect();
    for row in rows {
        let [key, label, unit, better] =
            ["key", "label", "unit", "better"].map(|name| row[name].as_str().unwrap());
        let line = format!("{key}\t{label}\t{unit}\t{better}\t");
        assert!(known.iter().any(|known| known.starts_with(&line)), "{line}");
    }
    let profiles: std::collections::BTreeSet<&str> =
        rows.iter().map(|row| row["profile"].as_str().unwrap()).collect();
    assert!(profiles.len() >= 2, "{profiles:?}");

    let table = succeeds(&of);
    let mut table = csv::Reader::from_reader(table.as_bytes());
    let heads = table.headers().unwrap().clone();
    let lines: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), rows.len());
    for (line, row) in lines.iter().zip(rows) {
        for (head, cell) in heads.iter().zip(line) {
            match &row[head] {
                Value::String(text) => assert_eq!(cell, text),
                Value::Number(number) => assert_eq!(cell.parse::<f64>().ok(), number.as_f64(), "{head}"),
                parameters => assert_eq!(cell.matches('=').count(), parameters.as_object().unwrap().len()),
            }
        }
    }
}

#[test]
fn a_full_disk_and_a_closed_pipe_end_without_a_panic() {
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let printing: [&[&str]; 8] = [
        &["figures", "published:nakamura-fbs"],
        &["schema"],
        &["schema", "--figures"],
        &["--help"],
        &["topology"],
        &["path", "list"],
        &["predict", "cpi"],
        &["compare", "published:kawabe-furuya/e5620", "published:kawabe-furuya/x7560"],
    ];
    for arguments in printing {
        let done = coho(arguments).stdout(full()).output().unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{arguments:?}: {errors}");
        assert!(errors.contains("No space left"), "{errors}");
        let both = coho(arguments).stdout(full()).stderr(full()).status().unwrap();
        assert_eq!(both.code(), Some(1));

        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done = coho(arguments).stdout(writer).output().unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert_eq!((done.status.code(), &*errors), (Some(0), ""), "{arguments:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let report = ["report", "published:kawabe-furuya/e5620", "-o", "/dev/full"];
    assert_refused(&run(folder.path(), &report), "/dev/full");
}
