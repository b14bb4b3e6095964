//! Real events of the kernel: software events and breakpoints, which need no PMU.

use std::hint::black_box;
use std::io::Read;

use coho_counters::{Counter, Descendants, Error, Event, Group, Lost, Mode};

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

/// The value, or nothing with the reason on standard error where this machine or user cannot have it.
fn here<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error @ (Error::NotPermitted { .. } | Error::NoCounters | Error::NoSuchEvent { .. })) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error @ (Error::NotScheduled { .. } | Error::System { errno: libc::ENOSYS, .. })) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_breakpoint_counts_calls_exactly() {
    let Some(calls) = here(Counter::open(&Event::executions(called as *const ()), Mode::User)) else {
        return;
    };
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
    let Some(faults) = here(Counter::open(&Event::page_faults(), Mode::User)) else { return };
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
    let events =
        [Event::executions(called as *const ()), Event::executions(also_called as *const ()), Event::dummy()];
    let Some(group) = here(Group::open(&events, Mode::User)) else { return };
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
    let Some(user) = here(Counter::open(&Event::page_faults(), Mode::User)) else { return };
    let Some(kernel) = here(Counter::open(&Event::page_faults(), Mode::Kernel)) else { return };
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
    let calls = Event::executions(called as *const ());
    let Some(calls) = here(Counter::open_stopped(&calls, Mode::User)) else { return };
    called(1);
    assert_eq!(calls.read_by_kernel(), Ok(0));
    if here(calls.enable()).is_none() {
        return;
    }
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
    // A CPU has 4 to 16 of these.
    let too_many = vec![Event::executions(called as *const ()); 32];
    if here(Counter::open(&too_many[0], Mode::User)).is_none() {
        return;
    }
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

/// Without rights, on a thread of its own: the raw system call changes the calling thread's alone.
#[test]
fn without_rights_the_kernels_part_is_refused_with_what_to_do() {
    std::thread::spawn(|| {
        // SAFETY: no memory arguments.
        unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
        match Counter::open(&Event::page_faults(), Mode::Kernel) {
            Err(error @ Error::NotPermitted { .. }) => {
                let message = error.to_string();
                assert!(
                    message.contains("page-faults") && message.contains("perf_event_paranoid"),
                    "{message}"
                );
            }
            Ok(_) => eprintln!("skipped: everybody may count the kernel here"),
            Err(error @ Error::System { errno: libc::ENOSYS, .. }) => eprintln!("skipped: {error}"),
            Err(error) => panic!("{error}"),
        }
    })
    .join()
    .unwrap();
}

#[test]
fn cycles_are_read_in_user_mode_or_there_is_a_reason() {
    let Some(cycles) = here(Counter::open(&Event::cycles(), Mode::User)) else { return };
    match cycles.calibrate() {
        Ok(bias) => {
            let span = cycles.start().unwrap();
            (0..100_000u64).for_each(|x| {
                black_box(x);
            });
            let delta = span.stop().unwrap().less(bias);
            assert!(delta.events() > 50_000, "{delta}");
            assert!(cycles.read().unwrap() <= cycles.read_by_kernel().unwrap());
        }
        Err(Lost::NotPermitted) => eprintln!("skipped: {}", Lost::NotPermitted),
        Err(lost) => panic!("{lost}"),
    }
}

#[test]
fn hardware_events_count_together() {
    let events = [Event::cycles(), Event::cycles()];
    let Some(group) = here(Group::open(&events, Mode::User)) else { return };
    let biases = match group.calibrate() {
        Ok(biases) => biases,
        Err(lost) => return eprintln!("skipped: {lost}"),
    };
    let deltas = group
        .measure(&biases, || {
            (0..100_000u64).for_each(|x| {
                black_box(x);
            })
        })
        .unwrap();
    assert!(deltas.iter().all(|delta| delta.events() > 50_000), "{deltas:?}");
}

#[test]
fn what_is_started_is_counted_and_the_starter_is_not() {
    use std::process::Command;
    let run = |script: &str| assert!(Command::new("sh").args(["-c", script]).status().unwrap().success());
    // The first start of a program faults more, while its file is not in the page cache.
    run("sh -c true; true");
    let Some(faults) = here(Descendants::open(&Event::page_faults(), Mode::User)) else { return };
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
