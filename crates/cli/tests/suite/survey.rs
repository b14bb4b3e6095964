//! `coho survey` from beginning to end, and ended in the middle.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use coho_probe::EXPERIMENTS;
use coho_profile::Profile;
use coho_testing::{Capability, file_names, needs};

use crate::support::watched::Watched;
use crate::support::{assert_valid, coho, fails, first_cpus, json, succeeds, unwrapped};

#[test]
fn a_profile_that_follows_the_schema_and_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("mine.json");
    let metrics = folder.path().join("mine.prom");
    let [file, metrics] = [&profile, &metrics].map(|path| path.to_string_lossy());
    let said = succeeds(&["survey", "--quick", "-o", &file, "--metrics", &metrics]);
    assert!(said.contains("mine.json") && said.contains("mine.html"), "{said}");
    assert_eq!(file_names(folder.path()), ["mine.html", "mine.json", "mine.prom"]);
    let metrics = fs::read_to_string(&*metrics).unwrap();
    assert!(
        metrics.contains("\ncoho_survey_info{") && metrics.contains("\ncoho_memory_rate_bytes_per_second{")
    );
    assert!(said.lines().count() <= 40, "{said}");
    let findings = succeeds(&["findings", &profile.to_string_lossy()]);
    let head: String = said.split("\n\n").take(2).collect::<Vec<_>>().join("\n\n");
    assert!(head.lines().count() <= 25 && head.contains("\ntopology: "), "{said}");
    let first = findings.lines().next().unwrap();
    assert!(head.contains(first), "it begins with what {findings} tells: {said}");
    let text = fs::read_to_string(&profile).unwrap();
    assert_valid(&json(&text));
    let read = Profile::from_json(&text).unwrap();
    assert!(read.host.is_some() && read.topology.is_some());
    let figures = read.figures();
    for entry in EXPERIMENTS {
        let section = read.sections().find(|(name, _)| *name == entry.section);
        let method = section.unwrap_or_else(|| panic!("no {}", entry.section)).1.method().unwrap();
        let why = method.interrupted || !method.not_available.is_empty();
        let mut keys = figures.iter().map(|figure| figure.quantity.key);
        let has_figures = keys.any(|key| key.split('.').next() == Some(entry.section));
        assert!(has_figures || why, "{}: {method:?}", entry.section);
    }
    let calls = read.calls.unwrap();
    let all = calls.conditions.interrupted || calls.calls.iter().any(|call| call.name == "write");
    assert!(all, "{:?}", calls.conditions.not_available);
    assert!(calls.calls.iter().all(|call| call.set != "mpi"), "a quick survey starts no MPI");
    assert!(read.sync.unwrap().kernels.is_empty(), "a quick survey runs no programs");
    let idle = read.idle.unwrap();
    assert!(idle.method.interrupted || idle.wakeups.iter().any(|wakeup| wakeup.ns.is_some()), "{idle:?}");
    let page = fs::metadata(folder.path().join("mine.html")).unwrap().len();
    assert!(page < 6_000_000, "the report has {page} bytes");
}

/// One CPU has times, counters, calls, memory and idle states; what takes two is named.
#[test]
fn one_cpu_is_surveyed_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.json");
    let said = succeeds(&[
        "survey",
        "--quick",
        "--cpus",
        &first_cpus(1),
        "--time-limit",
        "60",
        "-o",
        &file.to_string_lossy(),
    ]);
    let said = unwrapped(&said);
    assert!(
        said.contains("needs two CPUs: times between CPUs; delegation") && said.contains("one CPU alone"),
        "{said}"
    );
    let profile = Profile::read(&file).unwrap();
    assert_valid(&json(&fs::read_to_string(&file).unwrap()));
    let coherence = profile.coherence.unwrap();
    assert!(coherence.pairs.is_empty() && coherence.singles.len() == 1, "{coherence:?}");
    assert!(coherence.method.not_available["times between CPUs"].contains("two CPUs"));
    assert!(!profile.memory.unwrap().rates.is_empty() && !profile.calls.unwrap().calls.is_empty());
    let sync = profile.sync.unwrap();
    assert!(sync.barriers.is_empty() && !sync.method.not_available["barriers"].is_empty(), "{sync:?}");
    assert!(profile.idle.unwrap().wakeups.iter().any(|wakeup| wakeup.ns.is_some()));
}

#[test]
fn runs_without_names_do_not_overwrite_each_other() {
    let folder = tempfile::tempdir().unwrap();
    // A survey's default name is the second in which it starts. Both start in the same one.
    let surveys = [(); 2].map(|()| {
        let mut survey = coho(&["survey", "--quick", "--time-limit", "1", "--json"]);
        survey.current_dir(folder.path()).stdout(Stdio::piped()).spawn().unwrap()
    });
    for survey in surveys {
        let done = survey.wait_with_output().unwrap();
        assert!(done.status.success());
        assert_valid(&json(&String::from_utf8(done.stdout).unwrap()));
    }
    assert_eq!(file_names(folder.path()).len(), 4);
}

#[test]
fn wrong_cpus_are_named_before_anything_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.json").to_string_lossy().into_owned();
    let cpus = format!("{},60000", first_cpus(1));
    assert!(fails(&["survey", "--cpus", &cpus, "-o", &file], 1).contains("60000"));
    let unnamed = coho(&["survey", "--cpus", &cpus]).current_dir(folder.path()).output().unwrap();
    assert_eq!((unnamed.status.code(), file_names(folder.path())), (Some(1), vec![]));
    let nowhere = folder.path().join("no/such/x.json").to_string_lossy().into_owned();
    assert!(fails(&["survey", "--quick", "-o", &nowhere], 1).contains("x.json"));
}

#[test]
fn a_survey_that_measured_nothing_fails() {
    let folder = tempfile::tempdir().unwrap();
    let done = coho(&["survey", "--quick", "--time-limit", "1ns", "-o", "p.json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let errors = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{errors}");
    assert!(errors.contains("nothing was measured") && errors.contains("memory"), "{errors}");
    // What the machine says it is stays.
    assert!(Profile::read(&folder.path().join("p.json")).unwrap().topology.is_some());
}

#[test]
fn one_file_is_never_written_over_another() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("x.html").to_string_lossy().into_owned();
    assert!(fails(&["survey", "--quick", "-o", &page], 2).contains("x.html"));
    let profile = folder.path().join("p.json").to_string_lossy().into_owned();
    let told = succeeds(&["survey", "--quick", "--time-limit", "1", "-o", &profile, "--report", &page]);
    let told = unwrapped(&told);
    assert!(
        told.contains("not measured: ") && !told.contains("cpus on") && !told.contains("mpi calls"),
        "{told}"
    );
    let before = fs::read_to_string(&profile).unwrap();
    assert!(fails(&["report", &profile, "-o", &profile], 2).contains("p.json"));
    assert!(fails(&["predict", "cpi", &profile, "--svg", &profile], 2).contains("p.json"));
    assert_eq!(fs::read_to_string(&profile).unwrap(), before);
}

/// Starts a long survey and waits until its first part is on disk.
fn begun(folder: &Path) -> Watched {
    let survey = Watched::start(&["survey", "-o", "mine.json"], folder);
    survey.until("the first part", || folder.join("mine.json").exists());
    survey
}

#[test]
fn an_interrupted_survey_keeps_what_it_has_and_reports_it() {
    needs!(Capability::TwoCpus);
    let folder = tempfile::tempdir().unwrap();
    let mut survey = begun(folder.path());
    survey.send(libc::SIGINT);
    assert_eq!(survey.end().status.code(), Some(128 + libc::SIGINT));
    assert_eq!(file_names(folder.path()), ["mine.html", "mine.json"]);
    let profile = Profile::read(&folder.path().join("mine.json")).unwrap();
    assert!(profile.coherence.is_none_or(|coherence| coherence.method.interrupted));
    assert!(profile.topology.is_some() && profile.idle.is_none());
}

#[test]
fn a_killed_survey_leaves_a_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut survey = begun(folder.path());
    survey.send(libc::SIGKILL);
    assert!(!survey.end().status.success());
    let profile = Profile::read(&folder.path().join("mine.json")).unwrap();
    assert!(profile.topology.is_some());
    assert_eq!(file_names(folder.path()), ["mine.json"]);
}
