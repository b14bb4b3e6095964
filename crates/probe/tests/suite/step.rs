//! Single steps count known pieces of work exactly.

use std::time::{Duration, Instant};

use coho_probe::step::{self, Options};
use coho_testing::{Capability, needs};

/// What a function does beyond the call of it, the return and what the build puts around.
#[cfg(target_arch = "x86_64")]
fn body(function: unsafe extern "C" fn()) -> step::Steps {
    unsafe extern "C" {
        fn step_nothing();
    }
    // SAFETY: the functions below follow the C convention and touch only what is theirs.
    let [nothing, whole] = [step_nothing, function].map(|f| step::count(|| unsafe { f() }).unwrap());
    step::Steps {
        instructions: whole.instructions - nothing.instructions,
        kernel_entries: whole.kernel_entries,
        loads: whole.loads.map(|loads| loads - nothing.loads.unwrap()),
        stores: whole.stores.map(|stores| stores - nothing.stores.unwrap()),
        code_lines: whole.code_lines - nothing.code_lines,
        data_lines: whole.data_lines.map(|lines| lines - nothing.data_lines.unwrap()),
        ..whole
    }
}

#[test]
fn nothing_is_counted_as_nothing() {
    needs!(Capability::Tracing);
    let steps = step::count(|| ()).unwrap();
    assert_eq!((steps.instructions, steps.kernel_entries), (0, 0));
    // The empty function may lie across the end of a line where the one taken off does not.
    assert!(steps.code_lines <= 1, "{steps:?}");
    assert!(steps.loads.is_none_or(|loads| loads == 0) && steps.data_lines.is_none_or(|lines| lines == 0));
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::*;

    // Each function starts a line of its own and spans no more of the next than is said.
    std::arch::global_asm!(
        ".globl step_nothing, step_nops, step_loop, step_stride, step_kinds, step_rep, step_down",
        ".globl step_thread, step_getpid, step_rdpmc, step_gather",
        ".p2align 6",
        "step_nothing: ret",
        ".p2align 6",
        // 100 bytes: two lines, or one more than the function that does nothing has.
        "step_nops: .fill 99, 1, 0x90",
        "ret",
        ".p2align 6",
        "step_loop: mov ecx, 1000",
        "2: dec ecx",
        "jnz 2b",
        "ret",
        ".p2align 6",
        // Every 128th byte of a page, and what only looks like an access.
        "step_stride: lea rdx, [rip + step_data]",
        "prefetcht0 [rdx]",
        "nop dword ptr [rdx + 8]",
        "xor ecx, ecx",
        "2: mov rax, [rdx + rcx]",
        "add ecx, 128",
        "cmp ecx, 4096",
        "jne 2b",
        "ret",
        ".p2align 6",
        "step_kinds: lea rdx, [rip + step_data]",
        "add qword ptr [rdx], 0",
        "mov rax, [rdx + 60]",
        "vmovdqu ymm0, [rdx + 256]",
        "ret",
        ".p2align 6",
        "step_rep: lea rsi, [rip + step_data]",
        "lea rdi, [rip + step_data + 2048]",
        "mov ecx, 200",
        "rep movsb",
        "rep movsb",
        "ret",
        ".p2align 6",
        "step_down: lea rdi, [rip + step_data + 1024 - 8]",
        "mov ecx, 16",
        "xor eax, eax",
        "std",
        "rep stosq",
        "cld",
        "ret",
        ".p2align 6",
        "step_thread: mov rax, fs:[0]",
        "mov rdx, rax",
        "ret",
        ".p2align 6",
        "step_getpid: mov eax, 39",
        "syscall",
        "ret",
        ".p2align 6",
        "step_rdpmc: xor ecx, ecx",
        "rdpmc",
        "shl rdx, 32",
        "or rax, rdx",
        "ret",
        ".p2align 6",
        "step_gather: lea rdx, [rip + step_data]",
        "vpxor xmm0, xmm0, xmm0",
        "vpcmpeqd ymm2, ymm2, ymm2",
        "vpxor ymm1, ymm1, ymm1",
        "vpgatherdd ymm0, [rdx + ymm1], ymm2",
        "vzeroupper",
        "ret",
        ".pushsection .bss",
        ".p2align 12",
        "step_data: .skip 4096",
        ".popsection",
    );

    unsafe extern "C" {
        fn step_nops();
        fn step_loop();
        fn step_stride();
        fn step_kinds();
        fn step_rep();
        fn step_down();
        fn step_thread();
        fn step_getpid();
        fn step_rdpmc();
        fn step_gather();
    }

    #[test]
    fn instructions_and_lines_of_code() {
        needs!(Capability::Tracing);
        let nops = body(step_nops);
        assert_eq!((nops.instructions, nops.code_lines), (99, 1));
        assert_eq!((nops.loads, nops.stores, nops.data_lines), (Some(0), Some(0), Some(0)));
        let turns = body(step_loop);
        assert_eq!((turns.instructions, turns.code_lines), (2001, 0));
    }

    #[test]
    fn loads_stores_and_lines_of_data() {
        needs!(Capability::Tracing);
        let stride = body(step_stride);
        assert_eq!((stride.instructions, stride.loads, stride.stores), (4 + 4 * 32, Some(32), Some(0)));
        assert_eq!(stride.data_lines, Some(32));
    }

    #[test]
    fn wide_loads_and_those_of_the_thread_s_memory() {
        needs!(Capability::Tracing, Capability::Avx);
        // A read-modify-write of line 0, a load across lines 0 and 1, a wide load of line 4.
        let kinds = body(step_kinds);
        assert_eq!((kinds.loads, kinds.stores, kinds.data_lines), (Some(3), Some(1), Some(3)));
        // A load by the thread's segment; its line is the thread's, not the base-less address 0.
        let thread = body(step_thread);
        assert_eq!((thread.loads, thread.stores, thread.data_lines), (Some(1), Some(0), Some(1)));
    }

    #[test]
    fn repeated_instructions_count_once_and_touch_all() {
        needs!(Capability::Tracing);
        let rep = body(step_rep);
        // The second has nothing left to move.
        assert_eq!((rep.instructions, rep.loads, rep.stores), (5, Some(200), Some(200)));
        assert_eq!(rep.data_lines, Some(4 + 4));
        let down = body(step_down);
        assert_eq!((down.instructions, down.stores, down.data_lines), (6, Some(16), Some(2)));
    }

    #[test]
    fn entries_of_the_kernel() {
        needs!(Capability::Tracing);
        let getpid = body(step_getpid);
        assert_eq!((getpid.instructions, getpid.kernel_entries), (2, 1));
    }

    #[test]
    fn a_gather_is_said_to_be_unresolved() {
        needs!(Capability::Tracing, Capability::Avx2);
        let gather = body(step_gather);
        assert_eq!((gather.instructions, gather.unresolved, gather.loads), (6, 1, Some(0)));
    }

    #[test]
    fn a_counter_that_may_not_be_read_is_passed_over() {
        needs!(Capability::Tracing);
        let passing = Options { emulate_rdpmc: true, ..Options::default() };
        // SAFETY: the function reads a counter, or faults in the child.
        let read = step::count_with(&passing, || unsafe { step_rdpmc() }).unwrap();
        // SAFETY: as above.
        match step::count(|| unsafe { step_rdpmc() }) {
            Ok(steps) => assert_eq!(steps, read),
            Err(error) => assert!(error.to_string().contains("SIGSEGV"), "{error}"),
        }
        // SAFETY: the function reads the thread's own memory.
        let without = step::count(|| unsafe { step_thread() }).unwrap();
        // xor, rdpmc, shl, or against mov, mov.
        assert_eq!((read.instructions, read.signals), (without.instructions + 2, 0));
    }
}

#[test]
fn the_same_work_counts_the_same() {
    needs!(Capability::Tracing);
    let sprintf = || {
        let mut text = [0u8; 64];
        // SAFETY: the text fits and the format's argument is a double.
        let count = step::count(|| unsafe {
            libc::snprintf(text.as_mut_ptr().cast(), text.len(), c"%f".as_ptr(), 3.25f64);
        });
        count.unwrap()
    };
    let [first, second] = [sprintf(), sprintf()];
    assert_eq!(first, second);
    // Paper 2 has 22.7 KiB for it; whatever the library, it is more than a handful of instructions.
    assert!(first.instructions > 200 && first.code_lines > 10, "{first:?}");
    assert_eq!((first.kernel_entries, first.signals), (0, 0));
}

#[test]
fn twice_the_work_is_twice_the_count() {
    needs!(Capability::Tracing);
    // SAFETY: the call takes no arguments.
    let calls = |n| move || (0..n).for_each(|_| assert!(unsafe { libc::getppid() } > 0));
    let [once, more] = [1, 7].map(|n| step::count(calls(n)).unwrap());
    assert_eq!((once.kernel_entries, more.kernel_entries), (1, 7));
    assert!(more.instructions > once.instructions);
}

#[test]
fn what_cannot_be_counted_is_said() {
    needs!(Capability::Tracing);
    let says = |expected: &str, work: &mut dyn FnMut()| {
        let error = step::count_with(&Options::default(), work).unwrap_err().to_string();
        assert!(error.contains(expected), "{error} instead of {expected}");
    };
    says("starts a thread or a process", &mut || drop(std::thread::spawn(|| ()).join()));
    says("starts a thread or a process", &mut || drop(std::process::Command::new("true").status()));
    // SAFETY: ends the child only.
    says("with status 7", &mut || unsafe { libc::_exit(7) });
    // SAFETY: kills the child only.
    says("SIGKILL", &mut || assert_eq!(unsafe { libc::raise(libc::SIGKILL) }, 0));
    says("SIGABRT", &mut || std::process::abort());
}

#[test]
fn endless_work_is_given_up() {
    needs!(Capability::Tracing);
    let bounded = |limit_ms, most_steps, warm_ups, work: &mut dyn FnMut()| {
        let limit = Duration::from_millis(limit_ms);
        let options = Options { limit, most_steps, warm_ups, ..Options::default() };
        step::count_with(&options, work).unwrap_err().to_string()
    };
    let spin = || while std::hint::black_box(true) {};
    let error = bounded(60_000, 5_000, 0, &mut { spin });
    assert!(error.contains("5000 steps"), "{error}");
    let start = Instant::now();
    // While it warms up, while it is stepped through, and asleep in the kernel.
    let mut sleep = || std::thread::sleep(Duration::from_secs(1_000));
    let works: [(u32, &mut dyn FnMut()); 3] = [(1, &mut { spin }), (0, &mut { spin }), (0, &mut sleep)];
    for (warm_ups, work) in works {
        let error = bounded(300, u64::MAX, warm_ups, work);
        assert!(error.contains("0.3 s"), "{error}");
    }
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_signal_of_its_own_is_counted() {
    needs!(Capability::Tracing);
    extern "C" fn handle(_: libc::c_int) {}
    // SAFETY: the handler does nothing, and SIGSYS is nobody else's here.
    unsafe { libc::signal(libc::SIGSYS, handle as extern "C" fn(libc::c_int) as libc::sighandler_t) };
    // SAFETY: the signal has a handler.
    let steps = step::count(|| assert_eq!(unsafe { libc::raise(libc::SIGSYS) }, 0)).unwrap();
    assert_eq!(steps.signals, 1);
    // At least the signal and the handler's return.
    assert!(steps.kernel_entries >= 2);
}

#[test]
fn counts_in_a_process_of_many_threads_and_leaves_no_child() {
    needs!(Capability::Tracing);
    let counts: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| step::count(|| drop(std::hint::black_box(vec![1u8; 100]))).unwrap()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(counts.iter().all(|steps| steps.instructions > 10));
    let children = std::fs::read_dir("/proc/self/task").unwrap().flatten().filter_map(|task| {
        let children = std::fs::read_to_string(task.path().join("children")).ok()?;
        (task.file_name().into_string().ok()? == own_thread()).then_some(children)
    });
    assert!(children.into_iter().all(|children| children.trim().is_empty()));
}

#[test]
#[ignore = "a program that another test starts"]
fn counts_without_end() {
    let options = Options { most_steps: u64::MAX, warm_ups: 0, ..Options::default() };
    // The limit ends it where nobody kills it.
    assert!(step::count_with(&options, || while std::hint::black_box(true) {}).is_err());
}

#[test]
fn a_killed_tracer_leaves_nothing_behind() {
    needs!(Capability::Tracing);
    let mut tracer = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "step::counts_without_end"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let within = |what: &str| assert!(start.elapsed() < Duration::from_secs(50), "{what}");
    let traced = loop {
        if let Some(&traced) = traced_by(tracer.id()).first() {
            break traced;
        }
        within("nothing was traced");
    };
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    // Whoever adopts it may take its time to reap it.
    let lives = || {
        let stat = std::fs::read_to_string(format!("/proc/{traced}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    };
    while lives() {
        within("the traced process outlived its tracer");
    }
}

/// The processes whose tracer is a thread of this process.
fn traced_by(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let tasks: Vec<_> = tasks.filter_map(|task| task.file_name().into_string().ok()).collect();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    numbers
        .filter(|number: &u32| {
            let status = std::fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
            let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
            tracer.is_some_and(|tracer| tasks.iter().any(|task| task == tracer.trim()))
        })
        .collect()
}

/// The number of the calling thread.
fn own_thread() -> String {
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().to_owned()
}
