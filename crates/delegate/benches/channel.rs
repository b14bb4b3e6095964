//! The channel alone and with payloads: calls at home beside the same calls posted to a host on another CPU.
//!
//! Passes of short bursts, every subject in each pass, in another order each time; a ratio is one within a pass, to the call at
//! home. `cargo bench -p coho-delegate --bench channel -- [PASSES]`

use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use coho_delegate::{Caller, Host, Request};
use coho_platform::pin;

const BURST: usize = 200;
const PAYLOADS: [usize; 5] = [1, 64, 512, 4096, 65536];
const BATCH: usize = 8;

unsafe fn nothing(_: [usize; 5]) -> isize {
    0
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Home,
    /// The host reads the caller's memory.
    InPlace,
    /// The caller copies the payload into a slot first.
    Gathered,
    /// In place, several on their way before the first answer is looked at.
    Batch,
}

struct Subject {
    name: String,
    /// None: the channel alone, a function that does nothing.
    payload: Option<usize>,
    way: Way,
    ns: Vec<f64>,
}

fn subjects() -> Vec<Subject> {
    let subject = |name: String, payload, way| Subject { name, payload, way, ns: Vec::new() };
    let mut all = vec![
        subject("round trip".into(), None, Way::InPlace),
        subject(format!("round trip, each of {BATCH} in a batch"), None, Way::Batch),
    ];
    for bytes in PAYLOADS {
        for (name, way) in [
            ("at home", Way::Home),
            ("in place", Way::InPlace),
            ("gathered", Way::Gathered),
            ("in batches of 8, in place", Way::Batch),
        ] {
            all.push(subject(format!("write of {bytes} bytes, {name}"), Some(bytes), way));
        }
    }
    all
}

/// Executes a burst; the caller writes the payload before each call, as programs do.
fn burst(caller: &mut Caller, subject: &Subject, file: usize, payload: &mut [u8]) {
    let bytes = subject.payload.unwrap_or(0);
    let request = |at: usize| match subject.payload {
        None => Request::function(nothing, [0; 5]),
        Some(_) => Request::system(libc::SYS_pwrite64, [file, at, bytes, 0, 0, 0]),
    };
    for number in 0..BURST {
        payload[..bytes].fill(number as u8);
        let at = payload.as_ptr() as usize;
        // SAFETY: the payload is left alone until the requests are done, and is at least as long.
        unsafe {
            match subject.way {
                Way::Home => {
                    std::hint::black_box(request(at).execute());
                }
                Way::InPlace => {
                    let ticket = caller.post(request(at));
                    std::hint::black_box(caller.wait(ticket));
                }
                Way::Gathered => {
                    let slot = caller.slot();
                    slot[..bytes].copy_from_slice(&payload[..bytes]);
                    let at = slot.as_ptr() as usize;
                    let ticket = caller.post(request(at));
                    std::hint::black_box(caller.wait(ticket));
                }
                Way::Batch if number % BATCH == 0 => {
                    caller.post_all(&[request(at); BATCH]);
                    caller.drain();
                }
                Way::Batch => {}
            }
        }
    }
}

fn main() {
    // `cargo test` runs benches, too: once is enough then.
    let passes = std::env::args().find_map(|argument| argument.parse().ok());
    let passes =
        passes.unwrap_or(if std::env::args().any(|argument| argument == "--bench") { 60 } else { 1 });
    let cpus = pin::allowed().expect("the system says which CPUs there are");
    let (Some(first), Some(last)) = (cpus.first(), cpus.last()) else { return };
    if first == last {
        return println!("not available: one CPU");
    }
    let folder =
        if std::path::Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
    let file = tempfile::tempfile_in(&folder).expect("a file in memory");
    let host = Host::builder().cpu(last).polling(Duration::MAX).start().expect("a host");
    let mut caller = host.caller_with(BATCH, *PAYLOADS.last().expect("there are some"));
    caller.set_patience(Duration::MAX);
    pin::to(first).expect("a CPU");
    let mut payload = vec![0; *PAYLOADS.last().expect("there are some")];
    let mut subjects = subjects();
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    for _ in 0..passes {
        fastrand::shuffle(&mut order);
        for &at in &order {
            let begun = Instant::now();
            burst(&mut caller, &subjects[at], file.as_raw_fd() as usize, &mut payload);
            let ns = begun.elapsed().as_nanos() as f64 / BURST as f64;
            subjects[at].ns.push(ns);
        }
    }
    println!("CPU {first} posts, CPU {last} executes, files in {}; {passes} passes", folder.display());
    for subject in &subjects {
        let home = |other: &&Subject| other.way == Way::Home && other.payload == subject.payload;
        let ratios = subjects
            .iter()
            .find(home)
            .map(|home| interval(subject.ns.iter().zip(&home.ns).map(|(away, home)| away / home).collect()));
        let (low, median, high) = interval(subject.ns.clone());
        let ratio =
            ratios.map_or(String::new(), |(low, median, high)| format!("{median:.2} ({low:.2}-{high:.2})"));
        println!("{:40} {median:8.1} ns ({low:.1}-{high:.1}) {ratio}", subject.name);
    }
}

/// The median and its distribution-free 95 % interval.
fn interval(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let (n, half) = (values.len() as f64, 0.98 * (values.len() as f64).sqrt());
    let at = |place: f64| values[(place.max(0.0) as usize).min(values.len() - 1)];
    (at((n / 2.0 - half).floor()), at((n / 2.0).floor()), at((n / 2.0 + half).ceil()))
}
