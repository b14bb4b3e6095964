//! Hosts that stall at random moments, or have their CPU taken: the same files as without. `COHO_STALL_RUNS` asks for more
//! runs, `COHO_STALL_SEED` for others. A program of its own: its time is limited, so the CPUs must do nothing else.

#![cfg(debug_assertions)]

#[allow(dead_code, reason = "what other tests look at")]
#[path = "suite/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

use coho_testing::{Capability, needs};
use common::{PATIENT, all};

const TESTERS: u64 = 6;
/// Where nobody asks for a number of runs.
const TIME: Duration = Duration::from_secs(12);

/// Each file's contents; of the one that threads share, each thread's lines.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (name, bytes) = (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
        if name == "shared" {
            for line in bytes.split_inclusive(|&byte| byte == b'\n') {
                files.entry(format!("shared {}", line[0])).or_insert_with(Vec::new).extend_from_slice(line);
            }
        } else {
            files.insert(name, bytes);
        }
    }
    files
}

fn run(seed: u64, calls: &str, settings: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let program = common::program("mix", &[]);
    let mut command = common::case(&program, &seed.to_string(), folder.path(), calls);
    let output = command.envs(settings.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{seed} {calls} {settings:?}: {output:?}");
    contents(folder.path())
}

#[test]
fn files_are_the_same_however_hosts_stall() {
    needs!(Capability::CCompiler);
    let asked = |name| std::env::var(name).ok().map(|number| number.parse::<usize>().unwrap());
    let (runs, seed) = (asked("COHO_STALL_RUNS"), asked("COHO_STALL_SEED").unwrap_or(0) as u64);
    let cpu = coho_platform::pin::allowed().unwrap().last().unwrap();
    let begun = Instant::now();
    let (over, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let goes_on = || runs.map_or(begun.elapsed() < TIME, |runs| done.load(Relaxed) < runs);
    common::program("mix", &[]);
    std::thread::scope(|scope| {
        scope.spawn(|| be_a_neighbour(cpu, &over));
        let _over = Over(&over);
        // They mostly sleep.
        let testers: Vec<_> = (0..TESTERS)
            .map(|number| {
                let (goes_on, done) = (&goes_on, &done);
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(TESTERS * seed + number);
                    while goes_on() {
                        done.fetch_add(compare(&mut random, cpu), Relaxed);
                    }
                })
            })
            .collect();
        testers.into_iter().for_each(|tester| tester.join().unwrap());
    });
    println!("{done:?} runs in {:?}", begun.elapsed());
    assert!(done.into_inner() >= runs.unwrap_or(20));
}

/// Of several runs with each without; returns how many.
fn compare(random: &mut fastrand::Rng, cpu: u32) -> usize {
    const WITH: usize = 4;
    let seed = random.u64(..1_000_000);
    let without = run(seed, "", &[]);
    for _ in 0..WITH {
        let later = format!("write:async,{}", all());
        let calls = random.choice([all(), "write:async".to_owned(), later.clone(), later]).unwrap();
        let stalls = random.u64(20..1000).to_string();
        let patience = random.choice(["", "0", "100", "2000", PATIENT]).unwrap();
        let cpus = if random.bool() { cpu.to_string() } else { String::new() };
        let settings = [
            ("COHO_HOST_STALLS", stalls.as_str()),
            ("COHO_DELEGATE_PATIENCE", patience),
            ("COHO_DELEGATE_CPUS", cpus.as_str()),
        ];
        let with = run(seed, &calls, &settings);
        assert!(with == without, "{seed} {calls} {settings:?}");
    }
    WITH
}

/// A busy one, that comes and goes.
fn be_a_neighbour(cpu: u32, over: &AtomicBool) {
    coho_platform::pin::to(cpu).unwrap();
    while !over.load(Relaxed) {
        let busy = Instant::now();
        while busy.elapsed() < Duration::from_millis(30) {
            std::hint::spin_loop();
        }
        std::thread::sleep(Duration::from_millis(60));
    }
}

struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}
