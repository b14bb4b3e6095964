//! Real hosts and callers: which thread executes what, when, and how often.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize, fence};
use std::time::Duration;

use coho_delegate::{Error, Host, Request, Ticket};
use coho_platform::pin;
use coho_testing::{Capability, needs};

/// Long enough for any machine that tests run on.
const LONG: Duration = Duration::from_secs(60);

unsafe fn thread_id(_: [usize; 5]) -> isize {
    // SAFETY: no arguments.
    unsafe { libc::gettid() as isize }
}

unsafe fn cpu(_: [usize; 5]) -> isize {
    pin::current().map_or(-1, |cpu| cpu as isize)
}

unsafe fn blocked_signals(_: [usize; 5]) -> isize {
    // SAFETY: a zeroed set is one, and the calls write to it alone.
    unsafe {
        let mut blocked = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), &raw mut blocked);
        let catchable = (1..=31).filter(|&signal| ![libc::SIGKILL, libc::SIGSTOP].contains(&signal));
        catchable.filter(|&signal| libc::sigismember(&raw const blocked, signal) == 1).count() as isize
    }
}

/// Adds the second argument to the counter whose address is the first, by a separate load and store, which is only
/// correct if executed alone.
unsafe fn add([counter, summand, ..]: [usize; 5]) -> isize {
    // SAFETY: the test keeps the counter while requests are on their way.
    let counter = unsafe { &*(counter as *const AtomicUsize) };
    let before = counter.load(Relaxed);
    counter.store(before + summand, Relaxed);
    before as isize
}

/// Says by the first of two flags that it has begun, and ends once the second is set.
unsafe fn hold([flags, ..]: [usize; 5]) -> isize {
    // SAFETY: the test keeps the flags until the request is done.
    let [has_begun, may_end] = unsafe { &*(flags as *const [AtomicBool; 2]) };
    has_begun.store(true, Release);
    while !may_end.load(Acquire) {
        std::thread::yield_now();
    }
    0
}

#[test]
fn a_host_is_another_thread_on_its_cpu_that_no_signal_reaches() {
    needs!(Capability::TwoCpus);
    let last = pin::allowed().unwrap().last().unwrap();
    let host = Host::builder().cpu(last).start().unwrap();
    let mut caller = host.caller();
    caller.set_patience(LONG);
    // SAFETY: the functions take any arguments.
    let mut ask = |function| unsafe {
        let ticket = caller.post(Request::function(function, [0; 5]));
        caller.wait(ticket).raw()
    };
    // SAFETY: no arguments.
    assert_ne!(ask(thread_id), unsafe { libc::gettid() } as isize);
    assert_eq!(ask(cpu), last as isize);
    assert_eq!(ask(blocked_signals), 29);
    assert_eq!(host.served(), 3);
    // SAFETY: the function takes any arguments.
    let own = unsafe { Request::function(blocked_signals, [0; 5]).execute() };
    assert_eq!(own.raw(), 0, "the starter's mask is as before");
}

#[test]
fn an_impossible_cpu_is_an_error() {
    let Err(Error::Cpu(error)) = Host::builder().cpu(60_000).start() else { panic!("no such CPU") };
    assert!(error.to_string().contains("no such CPU"), "{error}");
}

#[test]
fn errors_and_slots_come_back() {
    let host = Host::builder().start().unwrap();
    let mut caller = host.caller_with(2, 64);
    let missing = c"/no/such/file".as_ptr() as usize;
    // SAFETY: a string that ends with a zero.
    let answer = unsafe { caller.call(Request::system(libc::SYS_openat, [usize::MAX, missing, 0, 0, 0, 0])) };
    assert_eq!(answer.result(), Err(libc::ENOENT));
    let (mut ends, text) = ([0; 2], b"through a slot");
    // SAFETY: the call fills the array.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    let through = |caller: &mut coho_delegate::Caller, call, end: i32| {
        let at = caller.slot().as_mut_ptr() as usize;
        // SAFETY: the slot stays the request's own.
        unsafe { caller.post(Request::system(call, [end as usize, at, text.len(), 0, 0, 0])) }
    };
    caller.slot()[..text.len()].copy_from_slice(text);
    let written = through(&mut caller, libc::SYS_write, ends[1]);
    let read = through(&mut caller, libc::SYS_read, ends[0]);
    assert_eq!(caller.wait(read).result(), Ok(text.len()));
    assert_eq!(caller.poll(written).unwrap().result(), Ok(text.len()));
    assert_eq!(&caller.payload(read).unwrap()[..text.len()], text);
    for end in ends {
        // SAFETY: the test's own.
        unsafe { libc::close(end) };
    }
}

#[test]
#[should_panic(expected = "overwritten")]
fn an_answer_is_gone_with_its_line() {
    let host = Host::builder().start().unwrap();
    let mut caller = host.caller_with(1, 0);
    // SAFETY: the function takes any arguments.
    let tickets: [Ticket; 2] = [0; 2].map(|_| unsafe { caller.post(Request::function(thread_id, [0; 5])) });
    caller.drain();
    caller.poll(tickets[0]);
}

#[test]
fn what_the_host_does_not_begin_its_caller_does_in_order() {
    let host = Host::builder().start().unwrap();
    let (mut busy, mut caller) = (host.caller(), host.caller_with(4, 0));
    let (counter, flags) = (AtomicUsize::new(0), [const { AtomicBool::new(false) }; 2]);
    let at = std::ptr::from_ref(&counter) as usize;
    // SAFETY: the flags outlive the caller.
    let held =
        unsafe { busy.post(Request::function(hold, [std::ptr::from_ref(&flags) as usize, 0, 0, 0, 0])) };
    while !flags[0].load(Acquire) {
        std::thread::yield_now();
    }
    for summand in 1..=6 {
        // SAFETY: the counter outlives the caller.
        unsafe { caller.post(Request::function(add, [at, summand, 0, 0, 0])) };
    }
    caller.drain();
    assert_eq!(counter.load(Relaxed), 21);
    assert_eq!(caller.taken_back(), 6);
    // SAFETY: no arguments.
    let own = unsafe { (libc::gettid() as isize, caller.call(Request::function(thread_id, [0; 5]))) };
    assert_eq!(own.0, own.1.raw());
    flags[1].store(true, Release);
    assert_eq!(busy.wait(held).raw(), 0);
}

#[test]
fn what_is_posted_is_done_at_the_end() {
    let counter = AtomicUsize::new(0);
    let at = std::ptr::from_ref(&counter) as usize;
    for summands in 1..50 {
        counter.store(0, Relaxed);
        let host = Host::builder().start().unwrap();
        let mut caller = host.caller_with(64, 0);
        for _ in 0..summands {
            // SAFETY: the counter outlives the caller.
            unsafe { caller.post(Request::function(add, [at, 1, 0, 0, 0])) };
        }
        drop(host);
        assert_eq!(counter.load(Relaxed), summands);
        // Without a host, callers do all themselves.
        // SAFETY: as above.
        unsafe { caller.post(Request::function(add, [at, 1, 0, 0, 0])) };
        drop(caller);
        assert_eq!(counter.load(Relaxed), summands + 1);
    }
}

#[test]
fn what_is_posted_after_the_end_is_done_by_the_most_patient_caller() {
    let host = Host::builder().start().unwrap();
    let mut caller = host.caller();
    caller.set_patience(Duration::MAX);
    host.end();
    // SAFETY: the function takes any arguments.
    let ticket = unsafe { caller.post(Request::function(thread_id, [0; 5])) };
    // SAFETY: no arguments.
    assert_eq!(caller.wait(ticket).raw(), unsafe { libc::gettid() } as isize);
}

/// A thread that changes namespaces must be the only one, as the kernel counts.
#[test]
fn a_host_that_has_ended_is_no_thread_of_the_process() {
    for _ in 0..200 {
        let host = Host::builder().start().unwrap();
        let mut caller = host.caller();
        caller.set_patience(LONG);
        // SAFETY: the function takes any arguments.
        let number = unsafe { caller.call(Request::function(thread_id, [0; 5])) }.raw();
        host.end();
        assert!(!std::path::Path::new(&format!("/proc/self/task/{number}")).exists());
    }
}

/// Several callers and hosts, with more or less patience, so that both sides claim.
#[test]
fn each_request_is_done_once_and_in_order_under_stress() {
    let rounds: usize =
        std::env::var("COHO_STRESS_REQUESTS").map_or(20_000, |number| number.parse().unwrap());
    let hosts = [(); 2].map(|()| Host::builder().polling(Duration::from_micros(20)).start().unwrap());
    let taken_back = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..4usize {
            let mut caller = hosts[number % 2].caller_with(1 << number, 8);
            let taken_back = &taken_back;
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(number as u64);
                let (counter, mut sum) = (AtomicUsize::new(0), 0);
                let at = std::ptr::from_ref(&counter) as usize;
                let mut round = 0;
                while round < rounds {
                    caller.set_patience(Duration::from_nanos(random.u64(0..3000)));
                    let batch = random.usize(1..6);
                    let requests: Vec<_> =
                        (0..batch).map(|more| Request::function(add, [at, round + more, 0, 0, 0])).collect();
                    let expected = sum + (0..batch - 1).map(|more| round + more).sum::<usize>();
                    // SAFETY: the counter outlives all requests.
                    let last = unsafe { caller.post_all(&requests) }.unwrap();
                    sum = expected + round + batch - 1;
                    round += batch;
                    match random.u8(0..32) {
                        // The host is to have its CPU.
                        0 => {
                            while caller.poll(last).is_none() {
                                std::thread::yield_now();
                            }
                        }
                        1..24 => assert_eq!(caller.wait(last).raw(), expected as isize),
                        _ => {}
                    }
                }
                caller.drain();
                fence(std::sync::atomic::Ordering::SeqCst);
                assert_eq!(counter.load(Relaxed), sum);
                taken_back.fetch_add(caller.taken_back() as usize, Relaxed);
            });
        }
    });
    let served: u64 = hosts.iter().map(Host::served).sum();
    println!("{served} by hosts, {taken_back:?} by callers");
    assert!(served > 0 && taken_back.into_inner() > 0);
}
