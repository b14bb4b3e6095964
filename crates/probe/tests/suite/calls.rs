//! What calls cost and evict, measured here: by time, so that it runs on any machine.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use coho_probe::Course;
use coho_probe::calls::{Options, Request, Set, measure};
use coho_profile::{CacheState, Call, CallMethod, Calls, Estimate, Side};
use coho_testing::alone;

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
    // Summed over all calls, as a few samples of one may be disturbed. Reading the clock may hide any call when cold, and a
    // short one when warm, too: these are left out.
    let told = |name: &str, state: &str| {
        let why = calls.conditions.not_available.get(&format!("{name} bare, {state}"));
        assert!(why.is_none_or(|why| why.contains("reading the clock")), "{name}: {why:?}");
        why.is_none()
    };
    let both: Vec<&str> = names.into_iter().filter(|name| told(name, "cold") && told(name, "warm")).collect();
    let sum = |state| both.iter().map(|name| ns(&calls, name, state)).sum::<f64>();
    let (cold, warm) = (sum(CacheState::Cold), sum(CacheState::Warm));
    assert!(both.is_empty() || cold > warm, "{both:?}: {cold} ns cold, {warm} warm");
    for name in names.into_iter().filter(|name| told(name, "warm")) {
        assert!(ns(&calls, name, CacheState::Warm) > 0.0, "{name}");
        assert!(row(&calls, name, CacheState::Warm, true).ns.is_some());
    }
    let l1d = calls.conditions.parameters["l1d_bytes"].as_u64().unwrap();
    for set in [8 << 10, l1d] {
        // A set that something else uses as well, such as another hyper-thread, may never stay in its cache.
        let figures = calls.damage.iter().filter(|damage| damage.set_bytes == set).count();
        let why = calls.conditions.not_available.get(&format!("damage to {set} bytes"));
        assert_eq!(figures > 0, why.is_none(), "{set} bytes: {figures} figures, {why:?}");
    }
    let finite = |ns: &Estimate| ns.low <= ns.median && ns.median <= ns.high;
    assert!(calls.damage.iter().all(|damage| damage.ns.as_ref().is_some_and(finite)), "{:?}", calls.damage);
    for name in ["sprintf", "fprintf"] {
        assert_eq!(row(&calls, name, CacheState::Warm, true).set, "libc");
        let raw = |row: &Call| row.name == name && !row.wrapped;
        assert!(!calls.calls.iter().any(raw), "{name} exists in the C library alone");
    }
    assert_eq!(row(&calls, "getppid", CacheState::Warm, false).set, "extra");
    assert!(calls.conditions.not_available["L1IM"].contains("not available"), "{:?}", calls.conditions);
    // A function does something in user mode, if single steps are available.
    let user = calls.calls.iter().find(|row| row.name == "sprintf" && row.side == Side::User);
    match user {
        Some(row) => assert!(row.counts.INS.as_ref().unwrap().median > 100.0, "{row:?}"),
        None => assert!(calls.conditions.not_available.contains_key("sprintf user side")),
    }
}

#[test]
fn a_footprint_is_a_part_of_the_cache() {
    let _alone = alone();
    let calls = measure(&only(&["pread(1)", "pread(4096)"], 50), &mut |_| ()).unwrap();
    let lines = calls.conditions.parameters["l1d_bytes"].as_f64().unwrap() / 64.0;
    for row in &calls.calls {
        let within = |footprint: &Estimate| 0.0 <= footprint.low && footprint.high <= lines;
        assert!(row.footprint_lines.as_ref().is_none_or(within), "{row:?}");
    }
    // Victims of known size make the scale: without it there are no footprints.
    let has_scale = calls.calibration.last().is_some_and(|point| point.evicted.is_some());
    let has_any = calls.calls.iter().any(|row| row.footprint_lines.is_some());
    assert!(has_scale || !has_any, "{:?}", calls.calibration);
    let why = calls.conditions.not_available.get("footprint_lines");
    assert!(why.is_none() || !has_any, "{why:?}");
}

#[test]
fn a_time_limit_keeps_what_there_is() {
    let _alone = alone();
    let start = Instant::now();
    let options = Options {
        course: Course::default().within(Duration::from_millis(500)),
        ..only(&["getpid", "stat"], 1_000_000)
    };
    let calls = measure(&options, &mut |_| ()).unwrap();
    assert!(calls.conditions.interrupted);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn what_cannot_be_measured_is_an_error() {
    let no_cpu = Options { course: Course::on([60_000]), ..only(&["getpid"], 10) };
    assert!(measure(&no_cpu, &mut |_| ()).unwrap_err().to_string().contains("CPU 60000"));
    let too_large = Options { damage_bytes: vec![1 << 40], ..only(&["getpid"], 10) };
    assert!(measure(&too_large, &mut |_| ()).unwrap_err().to_string().contains("256 MiB"));
}

const ROLE: &str = "COHO_TEST_CALLS_ROLE";

/// Not a test by itself: the children of other tests run this.
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
        .args(["--exact", "calls::child", "--nocapture"])
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
    let is_of_calls =
        |path: &&Path| path.to_string_lossy().rsplit('/').next().unwrap().starts_with("coho-calls-");
    // The folder itself or a file in it.
    let folder = loop {
        let fds = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
        let mut links = fds.filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
        if let Some(folder) = links.find_map(|link| link.ancestors().find(is_of_calls).map(Path::to_owned)) {
            break folder;
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "the child has opened no file");
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(folder.exists());
    // SAFETY: a child of this test that has not been waited for.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    assert!(!child.wait().unwrap().success());
    // The keeper that removes it may come a moment later than the end.
    let ended = Instant::now();
    while folder.exists() {
        assert!(ended.elapsed() < Duration::from_secs(300), "{} is left", folder.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}
