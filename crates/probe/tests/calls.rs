//! What calls cost and evict, measured here: by time, so that it runs on any machine.

use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use coho_probe::calls::{Options, Request, Set, measure};
use coho_profile::{CacheState, Call, CallMethod, Calls, Side};

/// One measurement at a time: all of them pin themselves to the same CPU.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Only these calls, without counters.
fn only(calls: &[&str], repeats: u32) -> Options {
    Options {
        sets: Vec::new(),
        extra: calls.iter().map(|call| call.parse::<Request>().unwrap()).collect(),
        pmu: false,
        repeats,
        damage_bytes: vec![8 << 10],
        ..Options::default()
    }
}

fn row<'a>(calls: &'a Calls, name: &str, state: CacheState, wrapped: bool) -> &'a Call {
    let wanted = |row: &&Call| {
        row.name == name && row.state == state && row.side == Side::Both && row.wrapped == wrapped
    };
    calls.calls.iter().find(wanted).unwrap_or_else(|| panic!("no row of {name}: {:?}", calls.conditions))
}

fn ns(calls: &Calls, name: &str, state: CacheState) -> f64 {
    row(calls, name, state, false).ns.as_ref().unwrap().median
}

#[test]
fn every_call_has_its_rows_and_the_cold_ones_cost_more() {
    let _alone = alone();
    let options = Options { sets: vec![Set::Syscalls, Set::Libc], ..only(&["getppid"], 50) };
    let mut steps = 0;
    let calls = measure(&options, &mut |progress| {
        steps += 1;
        assert!(progress.done <= progress.total);
    })
    .unwrap();
    assert!(steps > 100);
    assert_eq!(calls.method, CallMethod::Timing);
    let names = ["getpid", "gettimeofday", "stat", "open", "write", "close"];
    // All together, as a few samples of one may be disturbed.
    let sum = |state| names.iter().map(|name| ns(&calls, name, state)).sum::<f64>();
    let (cold, warm) = (sum(CacheState::Cold), sum(CacheState::Warm));
    assert!(cold > warm, "{cold} ns cold, {warm} warm");
    for name in names {
        assert!(ns(&calls, name, CacheState::Warm) > 0.0, "{name}");
        assert!(row(&calls, name, CacheState::Warm, true).ns.is_some());
        // 8 KiB and the level-1 data cache's own size, unless another hyperthread uses it as well.
        let damages = calls.damage.iter().filter(|damage| damage.name == name).count();
        let reasons = calls.conditions.not_available.keys().filter(|key| key.starts_with("damage")).count();
        assert!(damages + reasons >= 2, "{name}: {:?}", calls.conditions.not_available);
    }
    for name in ["sprintf", "fprintf"] {
        assert_eq!(row(&calls, name, CacheState::Warm, true).set, "libc");
        let raw = |row: &Call| row.name == name && !row.wrapped;
        assert!(!calls.calls.iter().any(raw), "{name} exists in the C library alone");
    }
    assert_eq!(row(&calls, "getppid", CacheState::Warm, false).set, "extra");
    assert!(calls.conditions.not_available["L1IM"].contains("not available"), "{:?}", calls.conditions);
    // A function does something in user mode, where single steps can be had.
    let user = calls.calls.iter().find(|row| row.name == "sprintf" && row.side == Side::User);
    match user {
        Some(row) => assert!(row.counts.INS.as_ref().unwrap().median > 100.0, "{row:?}"),
        None => eprintln!("skipped: {}", calls.conditions.not_available["sprintf user side"]),
    }
}

#[test]
fn a_page_that_is_copied_is_seen_in_the_cache() {
    let _alone = alone();
    // The copy reads 64 lines and writes 64; how many of them count depends on what the kernel's copy leaves behind.
    let expected = 64.0..200.0;
    let mut seen = Vec::new();
    for seed in 0..6 {
        let options = Options { seed, ..only(&["pread(1)", "pread(4096)"], 150) };
        let calls = measure(&options, &mut |_| ()).unwrap();
        let lines = |name| {
            let footprint = row(&calls, name, CacheState::Warm, false).footprint_lines.as_ref();
            footprint.map(|lines| lines.median)
        };
        if let Some((small, large)) = lines("pread(1)").zip(lines("pread(4096)")) {
            seen.push(large - small);
            if expected.contains(&(large - small)) {
                return;
            }
        }
    }
    if seen.is_empty() {
        return eprintln!("skipped: no set of lines stays in the level-1 data cache here");
    }
    panic!("pread(4096) uses {seen:?} lines more than pread(1)");
}

#[test]
fn a_time_limit_keeps_what_there_is() {
    let _alone = alone();
    let start = Instant::now();
    let options =
        Options { time_limit: Some(Duration::from_millis(500)), ..only(&["getpid", "stat"], 1_000_000) };
    let calls = measure(&options, &mut |_| ()).unwrap();
    assert!(calls.conditions.interrupted);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn what_cannot_be_measured_is_an_error() {
    let no_cpu = Options { cpu: Some(60_000), ..only(&["getpid"], 10) };
    assert!(measure(&no_cpu, &mut |_| ()).unwrap_err().to_string().contains("CPU 60000"));
    let too_large = Options { damage_bytes: vec![1 << 40], ..only(&["getpid"], 10) };
    assert!(measure(&too_large, &mut |_| ()).unwrap_err().to_string().contains("256 MiB"));
}

const ROLE: &str = "COHO_TEST_CALLS_ROLE";

/// Not a test of its own: what the children of others do.
#[test]
fn child() {
    match std::env::var(ROLE).as_deref() {
        Ok("measure") => {
            let _ = measure(&only(&["pread(1)"], 1_000_000), &mut |_| ());
        }
        Ok("few files") => {
            let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
            let limit = libc::rlimit { rlim_cur: open + 12, rlim_max: open + 12 };
            // SAFETY: `limit` is valid; it binds this child alone.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
            let calls = measure(&only(&["close", "getpid"], 25), &mut |_| ()).unwrap();
            let why = &calls.conditions.not_available["close"];
            assert!(why.contains("ulimit -n"), "{why}");
            assert!(ns(&calls, "getpid", CacheState::Warm) > 0.0);
        }
        _ => {}
    }
}

fn start(role: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(ROLE, role)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn few_open_files_are_respected() {
    let _alone = alone();
    assert!(start("few files").wait().unwrap().success());
}

#[test]
fn no_file_outlives_a_signal() {
    let _alone = alone();
    let mut child = start("measure");
    let begun = Instant::now();
    let file = loop {
        let fds = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
        let mut links = fds.filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
        if let Some(file) = links.find(|link| link.to_string_lossy().contains("coho-calls-")) {
            break file;
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "the child has opened no file");
        std::thread::sleep(Duration::from_millis(5));
    };
    let folder = file.parent().unwrap();
    assert!(folder.exists());
    // SAFETY: a child of this test that has not been waited for.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    assert!(!child.wait().unwrap().success());
    assert!(!folder.exists(), "{} is left", folder.display());
}
