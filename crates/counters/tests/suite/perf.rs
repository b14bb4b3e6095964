//! Real events of the kernel: software events and breakpoints, which need no PMU.

use std::hint::black_box;
use std::io::Read;
use std::time::{Duration, Instant};

use coho_counters::{Counter, Descendants, Error, Event, Group, Lost, Mode};
use coho_testing::{Capability, in_own_process, needs};

#[inline(never)]
extern "C" fn called(x: u64) -> u64 {
    black_box(x) + 1
}

#[inline(never)]
extern "C" fn also_called(x: u64) -> u64 {
    black_box(x) + 2
}

/// At least the size of the system's pages.
const PAGE: usize = 65536;

#[test]
fn a_breakpoint_counts_calls_exactly() {
    needs!(Capability::PerfEvents);
    let calls = Counter::open(&Event::executions(called as *const ()), Mode::User).unwrap();
    for times in [0, 1, 17, 300] {
        let before = calls.read_by_kernel().unwrap();
        for x in 0..times {
            called(x);
        }
        assert_eq!(calls.read_by_kernel().unwrap() - before, times);
    }
}

#[test]
fn user_mode_is_told_that_it_cannot_read_a_software_event() {
    needs!(Capability::PerfEvents);
    let faults = Counter::open(&Event::page_faults(), Mode::User).unwrap();
    assert_eq!(faults.read(), Err(Lost::NotPermitted));
    let before = faults.read_by_kernel().unwrap();
    let mut pages = vec![0u8; 1 << 20];
    for page in pages.chunks_mut(4096) {
        page[0] = 1;
    }
    black_box(&pages);
    assert!(faults.read_by_kernel().unwrap() > before);
}

#[test]
fn a_group_counts_each_of_its_events() {
    needs!(Capability::PerfEvents);
    let events =
        [Event::executions(called as *const ()), Event::executions(also_called as *const ()), Event::dummy()];
    let group = Group::open(&events, Mode::User).unwrap();
    let before = group.read_by_kernel().unwrap();
    for x in 0..5 {
        called(x);
        also_called(x);
        also_called(x);
    }
    let after = group.read_by_kernel().unwrap();
    let counted: Vec<_> = before.iter().zip(after).map(|(before, after)| after - before).collect();
    assert_eq!(counted, [5, 10, 0]);
}

#[test]
fn user_and_kernel_are_told_apart() {
    needs!(Capability::KernelEvents);
    let user = Counter::open(&Event::page_faults(), Mode::User).unwrap();
    let kernel = Counter::open(&Event::page_faults(), Mode::Kernel).unwrap();
    let counts = || [&user, &kernel].map(|counter| counter.read_by_kernel().unwrap());
    const BYTES: usize = 64 * PAGE;
    let fresh = || {
        // SAFETY: a new mapping at an address of the kernel's choice, which stays.
        let pages = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        assert_ne!(pages, libc::MAP_FAILED);
        // SAFETY: as above; huge pages would make it one fault, and where there are none this fails harmlessly.
        unsafe { libc::madvise(pages, BYTES, libc::MADV_NOHUGEPAGE) };
        // SAFETY: the mapping is zeroed memory of this size.
        unsafe { std::slice::from_raw_parts_mut(pages.cast::<u8>(), BYTES) }
    };
    let least = (BYTES / PAGE) as u64;

    let pages = fresh();
    let before = counts();
    pages.iter_mut().step_by(PAGE).for_each(|byte| *byte = black_box(1));
    let touched = counts();
    assert!(touched[0] - before[0] >= least, "{before:?} {touched:?}");
    assert!(touched[1] - before[1] < least, "{before:?} {touched:?}");

    let pages = fresh();
    let before = counts();
    std::fs::File::open("/dev/zero").unwrap().read_exact(pages).unwrap();
    let filled = counts();
    assert!(filled[0] - before[0] < least, "{before:?} {filled:?}");
    assert!(filled[1] - before[1] >= least, "{before:?} {filled:?}");
}

#[test]
fn what_is_stopped_does_not_count() {
    needs!(Capability::PerfEvents);
    let calls = Event::executions(called as *const ());
    let calls = Counter::open_stopped(&calls, Mode::User).unwrap();
    called(1);
    assert_eq!(calls.read_by_kernel(), Ok(0));
    calls.enable().unwrap();
    called(1);
    called(1);
    calls.disable().unwrap();
    called(1);
    assert_eq!(calls.read_by_kernel(), Ok(2));
    calls.reset().unwrap();
    assert_eq!(calls.read_by_kernel(), Ok(0));
}

#[test]
fn a_group_that_the_cpu_has_no_room_for_is_refused() {
    needs!(Capability::PerfEvents);
    // A CPU has 4 to 16 of these.
    let too_many = vec![Event::executions(called as *const ()); 32];
    assert_eq!(Group::open(&too_many, Mode::User).unwrap_err(), Error::NotScheduled { events: 32 });
    assert!(matches!(Group::open(&[], Mode::User), Err(Error::Invalid(_))));
}

#[test]
fn an_event_of_nobody_is_named() {
    let nobody = Event { name: "nobody's event".into(), kind: 0x7FFF_FFFF, config: 1, config1: 0 };
    let error = Counter::open(&nobody, Mode::User).unwrap_err();
    assert!(
        matches!(
            error,
            Error::NoSuchEvent { .. }
                | Error::NoCounters
                | Error::NotPermitted { .. }
                | Error::System { errno: libc::ENOSYS, .. }
        ),
        "{error:?}"
    );
}

/// Runs without rights on a thread of its own: the raw system calls change only the calling thread's.
#[test]
fn without_rights_the_kernels_part_is_refused_with_what_to_do() {
    needs!(Capability::PerfEvents);
    std::thread::spawn(|| {
        // Rights may come from the user or from a capability, so both are dropped.
        let none = [0u32; 6];
        const VERSION_3: u32 = 0x2008_0522;
        // SAFETY: a header and two sets of three words, as this version has them.
        unsafe {
            libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534);
            assert_eq!(libc::syscall(libc::SYS_capset, [VERSION_3, 0].as_ptr(), none.as_ptr()), 0);
        }
        let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
        let opened = Counter::open(&Event::page_faults(), Mode::Kernel);
        if paranoid.trim().parse::<i32>().unwrap() < 2 {
            return assert!(opened.is_ok(), "everybody may count the kernel here: {opened:?}");
        }
        let error = opened.unwrap_err();
        let message = error.to_string();
        assert!(matches!(error, Error::NotPermitted { .. }), "{error:?}");
        assert!(message.contains("page-faults") && message.contains("perf_event_paranoid"), "{message}");
    })
    .join()
    .unwrap();
}

/// Something that takes 100 000 instructions and more.
fn work() {
    (0..100_000u64).for_each(|x| {
        black_box(x);
    });
}

#[test]
fn instructions_are_read_in_user_mode() {
    needs!(Capability::UserCounterReads);
    let instructions = Counter::open(&Event::instructions(), Mode::User).unwrap();
    let bias = instructions.calibrate().unwrap();
    let span = instructions.start().unwrap();
    work();
    let delta = span.stop().unwrap().less(bias);
    assert!(delta.events() >= 100_000, "{delta}");
    assert!(instructions.read().unwrap() <= instructions.read_by_kernel().unwrap());
}

#[test]
fn hardware_events_count_together() {
    needs!(Capability::UserCounterReads);
    let group = Group::open(&[Event::instructions(), Event::instructions()], Mode::User).unwrap();
    let biases = group.calibrate().unwrap();
    let deltas = group.measure(&biases, work).unwrap();
    assert!(deltas.iter().all(|delta| delta.events() >= 100_000), "{deltas:?}");
}

/// The CPU's time that the calling thread has used, in ns.
fn used_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes `time`.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) }, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[test]
fn the_task_clock_counts_the_thread_s_time() {
    needs!(Capability::PerfEvents);
    const PERF_TYPE_SOFTWARE: u32 = 1;
    const PERF_COUNT_SW_TASK_CLOCK: u64 = 1;
    let task_clock = Event {
        name: "task-clock".into(),
        kind: PERF_TYPE_SOFTWARE,
        config: PERF_COUNT_SW_TASK_CLOCK,
        config1: 0,
    };
    let task_clock = Counter::open(&task_clock, Mode::User).unwrap();
    let (wall, before) = (Instant::now(), task_clock.read_by_kernel().unwrap());
    let start = used_ns();
    while used_ns() < start + 5_000_000 {}
    let used = used_ns() - start;
    let counted = task_clock.read_by_kernel().unwrap() - before;
    let elapsed = wall.elapsed().as_nanos() as u64;
    // Time that a hypervisor or an interrupt took is counted, and not used; a switch is accounted for a moment earlier.
    let moments = 1_000_000;
    assert!((used - moments..=elapsed).contains(&counted), "{counted} of {used} to {elapsed}");
}

#[test]
fn every_voluntary_switch_is_counted() {
    needs!(Capability::KernelEvents);
    let switches = Counter::open(&Event::context_switches(), Mode::Both).unwrap();
    let before = switches.read_by_kernel().unwrap();
    (0..20).for_each(|_| std::thread::sleep(Duration::from_micros(100)));
    assert!(switches.read_by_kernel().unwrap() - before >= 20);
}

#[test]
fn what_is_started_is_counted_and_the_starter_is_not() {
    needs!(Capability::PerfEvents);
    use std::process::Command;
    let run = |script: &str| assert!(Command::new("sh").args(["-c", script]).status().unwrap().success());
    // The first start of a program causes more faults, while its file is not in the page cache.
    run("sh -c true; true");
    let faults = Descendants::open(&Event::page_faults(), Mode::User).unwrap();
    let mut own = vec![0u8; 1 << 20];
    own.chunks_mut(4096).for_each(|page| page[0] = 1);
    black_box(&own);
    assert_eq!(faults.read().unwrap(), 0, "nothing was started yet");
    run("true");
    let one = faults.read().unwrap();
    assert!(one > 0);
    // Twenty grandchildren: far more than the shell's own forks could fault.
    let faults = Descendants::open(&Event::page_faults(), Mode::User).unwrap();
    run("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sh -c true; done");
    let more = faults.read().unwrap();
    assert!(more > 10 * one, "{more} after {one}");
}

#[test]
fn no_descriptor_left_is_said_so() {
    needs!(Capability::PerfEvents);
    in_own_process(no_descriptor_left_is_said_so, || {
        // It takes all file descriptors away.
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: reads `none`; lowering one's own limits is always allowed.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &none) }, 0);
        let error = Counter::open(&Event::page_faults(), Mode::User).unwrap_err();
        assert_eq!(error, Error::TooManyFiles);
        assert!(error.to_string().contains("ulimit"));
    });
}
