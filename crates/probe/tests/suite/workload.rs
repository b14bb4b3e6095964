//! The tests as a program runs them: results from the CPUs of the placement, and nothing left behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use coho_platform::{pin, stop};
use coho_probe::Course;
use coho_probe::idle::Root;
use coho_probe::placement::Placement;
use coho_probe::workload::{Options, Test};
use coho_testing::{Capability, Tree, needs};

use crate::measured;

fn brief(tests: &[Test]) -> Options {
    Options {
        tests: tests.to_vec(),
        sample: Duration::from_millis(60),
        passes: 2,
        sharing: false,
        copies: vec![1],
        ..Options::default()
    }
}

#[test]
fn every_test_has_a_result_where_it_was_put() {
    needs!(Capability::CCompiler);
    let folder = tempfile::tempdir().unwrap();
    let tests: Vec<Test> = Test::all().collect();
    let options =
        Options { placements: vec![Placement::Compact], folder: Some(folder.path().into()), ..brief(&tests) };
    let found = measured(&options).unwrap();
    for row in &found.results {
        let what = format!("{} {}: {:?}", row.test, row.placement, row.not_available);
        // Of a pair, one may not run at all within so short a sample where others use the CPUs too.
        let is_pair = row.test == Test::PipeContextSwitching.name();
        let Some(value) = row.value.as_ref() else {
            assert!(is_pair && row.not_available.is_some(), "{what}");
            continue;
        };
        assert!(value.min > 0.0 && (value.n == 2 || is_pair), "{what}");
        assert!(row.psi_cpu_some.is_none_or(|share| (0.0..=1.0).contains(&share)), "{what}");
        // One copy was held to one CPU, unless two were asked for; a pair of processes to two.
        let most = if row.pair_class.is_some() || row.placement == "two CPUs" { 2 } else { 1 };
        assert!((1..=most).contains(&row.cpus.len()), "{what}: {:?}", row.cpus);
    }
    let measured: BTreeSet<_> = found.results.iter().map(|row| row.test.as_str()).collect();
    assert_eq!(measured, tests.iter().map(|test| test.name()).collect());
    assert_eq!((found.method.passes, found.method.interrupted), (2, false));
    // A kilobyte a second is a matter of units: copying in memory is above ten megabytes a second everywhere.
    let copy = found.results.iter().find(|row| row.test == "file_copy_4096").unwrap();
    assert!((1e4..1e9).contains(&copy.value.as_ref().unwrap().median), "{copy:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the folder is left as it was");
}

#[test]
fn a_pair_is_measured_in_every_class() {
    let found = measured(&brief(&[Test::PipeContextSwitching])).unwrap();
    let allowed = pin::allowed().unwrap();
    let topology = coho_topology::detect().unwrap();
    let cpus: Vec<u32> = allowed.iter().collect();
    let mut classes = BTreeSet::from(["same CPU".to_owned()]);
    for (at, &a) in cpus.iter().enumerate() {
        for &b in &cpus[at + 1..] {
            let level = topology.closest_shared(a, b);
            classes.insert(level.map_or_else(|| "system".into(), |level| level.to_string()));
        }
    }
    let measured = found.results.iter().filter(|row| row.value.is_some() || row.not_available.is_some());
    let measured: BTreeSet<_> = measured.filter_map(|row| row.pair_class.clone()).collect();
    assert_eq!(measured, classes);
    let one = found.results.iter().find(|row| row.pair_class.as_deref() == Some("same CPU")).unwrap();
    assert!(one.value.is_none() || !one.cpus.is_empty());
    assert!(one.cpus.iter().all(|&cpu| allowed.contains(cpu)));
}

#[test]
fn a_program_s_own_sources_are_built_anew_for_each_sample() {
    needs!(Capability::CCompiler, Capability::Make);
    let source = tempfile::tempdir().unwrap();
    let counted = source.path().join("counted");
    let recipe = format!(
        "all: built\nbuilt: built.c\n\tcc -o built built.c\n\techo >>{}\nclean:\n\trm -f built\n",
        counted.display()
    );
    fs::write(source.path().join("Makefile"), recipe).unwrap();
    fs::write(source.path().join("built.c"), "int main(void) { return 0; }").unwrap();
    let options = Options {
        placements: vec![Placement::None],
        source: Some(source.path().into()),
        ..brief(&[Test::Build])
    };
    let found = measured(&options).unwrap();
    let name = format!("build of {}", source.path().file_name().unwrap().display());
    let row = &found.results[0];
    assert_eq!((row.test == name, row.unit.as_str()), (true, "s"), "{row:?}");
    assert!(row.value.as_ref().is_some_and(|value| value.n == 2 && value.min > 0.0), "{row:?}");
    assert_eq!(fs::read_to_string(&counted).unwrap().lines().count(), 2, "each sample builds it");
    assert!(!source.path().join("built").exists(), "it is copied");
    fs::remove_file(source.path().join("Makefile")).unwrap();
    let none = measured(&options).unwrap().results.remove(0);
    assert!(none.not_available.is_some_and(|why| why.contains("no makefile")));
}

#[test]
fn a_state_is_forbidden_in_every_other_sample_and_allowed_at_the_end() {
    let tree = Tree::default();
    let before = tree.contents();
    let options = Options {
        placements: vec![Placement::None],
        without_idle: vec!["C6".into()],
        idle_root: Root::at(tree.path("")),
        ..brief(&[Test::PipeThroughput])
    };
    let over = AtomicBool::new(false);
    let (found, seen) = thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut seen = BTreeSet::new();
            while !over.load(Relaxed) {
                seen.insert(tree.disabled(0, 3));
                thread::sleep(Duration::from_millis(1));
            }
            seen
        });
        let found = measured(&options);
        over.store(true, Relaxed);
        (found.unwrap(), watch.join().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([false, true]), "both while it ran");
    assert_eq!(tree.contents(), before);
    let without = found.without_idle.unwrap();
    assert_eq!((&without.states[..], without.results.len()), (&["C6".to_owned()][..], found.results.len()));
    assert!(
        without.status.starts_with("set, not verifiable"),
        "plain files count nothing: {}",
        without.status
    );
    let speed = without.gains[0].speed.as_ref().unwrap();
    assert!(speed.n == 2 && speed.median > 0.0, "{speed:?}");
    let nowhere = tempfile::tempdir().unwrap();
    let why = measured(&Options { idle_root: Root::at(nowhere.path()), ..options }).unwrap_err().to_string();
    assert!(why.contains("disabling idle states is not available"), "{why}");
}

#[test]
fn a_time_limit_keeps_what_is_done() {
    let options = Options {
        passes: 1_000_000,
        course: Course::default().within(Duration::from_secs(2)),
        ..brief(&[Test::PipeThroughput, Test::SyscallOverhead])
    };
    let found = measured(&options).unwrap();
    assert!(found.method.interrupted && !stop::requested());
    // On a busy machine the first samples may take longer than that.
    assert!(found.results.iter().all(|row| row.value.is_some() || row.not_available.is_some()), "{found:?}");
}

/// Programs with the names, arguments and report of UnixBench's, written for this test: two of them, the others missing.
const STAND_IN: [(&str, &str); 3] = [
    (
        "pipe",
        "#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
         static unsigned long n;\nstatic void over(int s) { (void)s; fprintf(stderr, \"COUNT|%lu|1|lps\\n\", n); exit(0); }\n\
         int main(int c, char **v) {\n int p[2]; char b[512] = {0}; (void)c;\n if (pipe(p)) return 1;\n\
         signal(SIGALRM, over); alarm(atoi(v[1]));\n for (;; n++)\n\
         if (write(p[1], b, 512) != 512 || read(p[0], b, 512) != 512) return 2;\n}\n",
    ),
    (
        // Sleeps, as UnixBench's does, and tells the rate of what it timed.
        "fstime",
        "#include <stdio.h>\n#include <unistd.h>\n\
         int main(void) { sleep(1); fprintf(stderr, \"COUNT|1000|0|KBps\\n\"); return 0; }\n",
    ),
    (
        "syscall",
        "#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <sys/stat.h>\n#include <sys/syscall.h>\n\
         #include <unistd.h>\nstatic unsigned long n;\n\
         static void over(int s) { (void)s; fprintf(stderr, \"COUNT|%lu|1|lps\\n\", n); exit(0); }\n\
         int main(int c, char **v) {\n int p[2]; (void)c;\n if (pipe(p)) return 1;\n\
         signal(SIGALRM, over); alarm(atoi(v[1]));\n\
         for (;; n++) { close(dup(p[0])); syscall(SYS_getpid); getuid(); umask(022); }\n}\n",
    ),
];

#[test]
fn another_builds_programs_are_run_in_turn_with_ours() {
    needs!(Capability::CCompiler);
    let tree = tempfile::tempdir().unwrap();
    let programs = tree.path().join("pgms");
    fs::create_dir(&programs).unwrap();
    for (name, source) in STAND_IN {
        compile(&programs, name, source);
    }
    let options = Options {
        placements: vec![Placement::Compact],
        peer: Some(tree.path().into()),
        passes: 2,
        ..brief(&[Test::PipeThroughput, Test::SyscallOverhead, Test::FileCopy1024, Test::Shell1, Test::Build])
    };
    let found = measured(&options).unwrap();
    for test in ["pipe_throughput", "syscall_overhead"] {
        let peer = found.peers.iter().find(|peer| peer.test == test).unwrap();
        // Only a benchmark on a quiet machine can say how near they are.
        let (ratio, tolerance) = (peer.ratio.unwrap(), peer.tolerance.unwrap());
        assert!(ratio.is_finite() && ratio > 0.0 && tolerance >= 0.03, "{peer:?}");
        // Two passes may show that both agree, and never that they differ.
        assert_eq!(peer.agrees, ((ratio - 1.0).abs() <= tolerance).then_some(true), "{peer:?}");
    }
    // A rate that its program told is not taken for one of the time that it did not sleep.
    let sleeper = found.peers.iter().find(|peer| peer.test == "file_copy_1024").unwrap();
    assert_eq!(sleeper.value.as_ref().unwrap().median, 1000.0, "{sleeper:?}");
    for test in ["shell_1", "build"] {
        let peer = found.peers.iter().find(|peer| peer.test == test).unwrap();
        assert!(peer.ratio.is_none() && peer.not_available.is_some(), "{peer:?}");
    }
    let nothing = Options { peer: Some(programs.join("..").join("nowhere")), ..options };
    let error = measured(&nothing).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}

fn compile(folder: &Path, name: &str, source: &str) {
    let file = folder.join(format!("{name}.c"));
    fs::write(&file, source).unwrap();
    let status =
        std::process::Command::new("cc").args(["-O2", "-o"]).arg(folder.join(name)).arg(&file).status();
    assert!(status.unwrap().success());
}
