//! What single calls cost a program that waits for them: made at home, by a host, and through io_uring with and without the
//! kernel's own polling thread (SQPOLL) where the host would be.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use coho_delegate::{Caller, Host, Request};
use io_uring::{IoUring, opcode, squeue, types};

use crate::delegation::ratios;
use crate::turns::median;

const BURST: usize = 200;
/// The kernel's thread polls for as long as a burst lasts.
const POLLING: Duration = Duration::from_secs(1);

#[derive(Clone, Copy)]
enum Call {
    Nothing,
    Close,
    Open,
    Stat,
    Write(usize),
}

const CALLS: [(&str, Call); 6] = [
    ("nothing (getpid, NOP)", Call::Nothing),
    ("close", Call::Close),
    ("write of 1 B", Call::Write(1)),
    ("write of 4 KiB", Call::Write(4096)),
    ("stat", Call::Stat),
    ("open", Call::Open),
];

/// Who makes the calls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Home,
    Host,
    Ring,
    Polled,
}

const WAYS: [Way; 4] = [Way::Home, Way::Host, Way::Ring, Way::Polled];

/// Prints a table of ns a call, with files in this folder. The program is on the first CPU, hosts on the last.
pub fn run(folder: &Path, cpus: &[u32], quick: bool) {
    let (own, host) = (cpus[0], cpus[cpus.len() - 1]);
    let passes = if quick { 7 } else { 31 };
    println!("  files in {}", folder.display());
    println!(
        "  what a call costs who waits, ns  direct    host × direct        io_uring × direct    SQPOLL × direct"
    );
    let table = std::thread::scope(|scope| {
        let measure = || {
            coho_platform::pin::to(own).map_err(|error| error.to_string())?;
            measure(folder, host, passes)
        };
        scope.spawn(measure).join().expect("no bug")
    });
    match table {
        Ok(rows) => rows.iter().for_each(|row| println!("{row}")),
        Err(why) => println!("  not available: {why}"),
    }
}

/// A row for each call: medians of bursts, each way in turn.
fn measure(folder: &Path, host: u32, passes: usize) -> Result<Vec<String>, String> {
    let files = Files::new(folder).map_err(|error| error.to_string())?;
    let mut times = vec![[const { Vec::new() }; WAYS.len()]; CALLS.len()];
    let mut refused = [const { None }; WAYS.len()];
    let mut order: Vec<usize> = (0..CALLS.len() * WAYS.len()).collect();
    for _ in 0..passes {
        fastrand::shuffle(&mut order);
        for &at in &order {
            let (call, way) = (at / WAYS.len(), at % WAYS.len());
            match files.burst(CALLS[call].1, WAYS[way], host) {
                Ok(ns) => times[call][way].push(ns),
                Err(why) => refused[way] = Some(why),
            }
        }
    }
    let row = |(&(name, _), times): (&(&str, Call), &[Vec<f64>; WAYS.len()])| {
        let [direct, away @ ..] = times;
        let cell = |own: &Vec<f64>| match own.len() == passes {
            true => format!("{:>7.0} {:<17}", median(own), ratios(own, direct)),
            false => format!("{:>7} {:<17}", "–", ""),
        };
        let away: Vec<_> = away.iter().map(cell).collect();
        format!("  {name:<24} {:>7.0} {}", median(direct), away.concat())
    };
    let mut rows: Vec<_> = CALLS.iter().zip(&times).map(row).collect();
    rows.extend(refused.iter().flatten().map(|why| format!("  io_uring: not available: {why}")));
    Ok(rows)
}

/// What the calls are made on.
struct Files {
    path: CString,
    written: OwnedFd,
    payload: Vec<u8>,
}

impl Files {
    fn new(folder: &Path) -> std::io::Result<Self> {
        let path = folder.join("called");
        let written = std::fs::File::create(&path)?.into();
        let path = CString::new(path.as_os_str().as_bytes())?;
        Ok(Self { path, written, payload: vec![b'x'; 4096] })
    }

    /// Mean ns of a burst of calls.
    fn burst(&self, call: Call, way: Way, host: u32) -> Result<f64, String> {
        let mut maker = Maker::new(way, host)?;
        // The first burst wakes the other side and warms its caches; it does not count.
        self.make(&mut maker, call)?;
        let begun = self.make(&mut maker, call)?;
        Ok(begun.as_nanos() as f64 / BURST as f64)
    }

    fn make(&self, maker: &mut Maker, call: Call) -> Result<Duration, String> {
        let closed = if let Call::Close = call { self.descriptors()? } else { Vec::new() };
        let mut opened = Vec::with_capacity(BURST);
        let mut status = std::mem::MaybeUninit::<libc::statx>::zeroed();
        let begun = Instant::now();
        for number in 0..BURST {
            let number = closed.get(number).copied().unwrap_or(-1);
            let answer = maker.make(self, call, number, status.as_mut_ptr());
            if answer < 0 {
                return Err(std::io::Error::from_raw_os_error(-answer as i32).to_string());
            }
            opened.push(answer as RawFd);
        }
        let taken = begun.elapsed();
        if let Call::Open = call {
            // SAFETY: descriptors of this function's own.
            opened.into_iter().for_each(|number| drop(unsafe { OwnedFd::from_raw_fd(number) }));
        }
        Ok(taken)
    }

    fn descriptors(&self) -> Result<Vec<RawFd>, String> {
        (0..BURST)
            .map(|_| {
                // SAFETY: no pointers.
                let number = unsafe { libc::dup(self.written.as_raw_fd()) };
                if number < 0 { Err(std::io::Error::last_os_error().to_string()) } else { Ok(number) }
            })
            .collect()
    }

    fn request(&self, call: Call, number: RawFd, status: *mut libc::statx) -> Request {
        let (here, path) = (libc::AT_FDCWD as isize as usize, self.path.as_ptr() as usize);
        let (written, payload) = (self.written.as_raw_fd() as usize, self.payload.as_ptr() as usize);
        match call {
            Call::Nothing => Request::system(libc::SYS_getpid, [0; 6]),
            Call::Close => Request::system(libc::SYS_close, [number as usize, 0, 0, 0, 0, 0]),
            Call::Open => Request::system(libc::SYS_openat, [here, path, libc::O_RDONLY as usize, 0, 0, 0]),
            Call::Stat => {
                let mask = libc::STATX_BASIC_STATS as usize;
                Request::system(libc::SYS_statx, [here, path, 0, mask, status as usize, 0])
            }
            Call::Write(bytes) => Request::system(libc::SYS_pwrite64, [written, payload, bytes, 0, 0, 0]),
        }
    }

    fn entry(&self, call: Call, number: RawFd, status: *mut libc::statx) -> squeue::Entry {
        let (here, path) = (types::Fd(libc::AT_FDCWD), self.path.as_ptr());
        match call {
            Call::Nothing => opcode::Nop::new().build(),
            Call::Close => opcode::Close::new(types::Fd(number)).build(),
            Call::Open => opcode::OpenAt::new(here, path).flags(libc::O_RDONLY).build(),
            Call::Stat => opcode::Statx::new(here, path, status.cast()).mask(libc::STATX_BASIC_STATS).build(),
            Call::Write(bytes) => {
                let written = types::Fd(self.written.as_raw_fd());
                opcode::Write::new(written, self.payload.as_ptr(), bytes as u32).offset(0).build()
            }
        }
    }
}

/// Makes calls in one way.
enum Maker {
    Home,
    /// The host lives as long as its caller.
    Host {
        caller: Caller,
        _host: Host,
    },
    Ring(IoUring),
    Polled(IoUring),
}

impl Maker {
    fn new(way: Way, host: u32) -> Result<Self, String> {
        const ENTRIES: u32 = 8;
        let ring = |builder: &io_uring::Builder| builder.build(ENTRIES).map_err(|error| error.to_string());
        Ok(match way {
            Way::Home => Self::Home,
            Way::Host => {
                let host = Host::builder().cpu(host).start().map_err(|error| error.to_string())?;
                let mut caller = host.caller_with(1, 0);
                caller.set_patience(Duration::MAX);
                Self::Host { caller, _host: host }
            }
            Way::Ring => Self::Ring(ring(&IoUring::builder())?),
            Way::Polled => {
                let idle = POLLING.as_millis() as u32;
                Self::Polled(ring(IoUring::builder().setup_sqpoll(idle).setup_sqpoll_cpu(host))?)
            }
        })
    }

    #[inline(always)]
    fn make(&mut self, files: &Files, call: Call, number: RawFd, status: *mut libc::statx) -> isize {
        // SAFETY: what the calls point to lives until they are done, which is waited for.
        unsafe {
            match self {
                Self::Home => files.request(call, number, status).execute().raw(),
                Self::Host { caller, .. } => caller.call(files.request(call, number, status)).raw(),
                Self::Ring(ring) => {
                    let _ = ring.submission().push(&files.entry(call, number, status));
                    ring.submit_and_wait(1).map_or_else(failed, |_| completed(ring))
                }
                Self::Polled(ring) => {
                    let _ = ring.submission().push(&files.entry(call, number, status));
                    // Enters the kernel only if its thread sleeps.
                    ring.submit().map_or_else(failed, |_| completed(ring))
                }
            }
        }
    }
}

fn failed(error: std::io::Error) -> isize {
    -(error.raw_os_error().unwrap_or(libc::EIO) as isize)
}

fn completed(ring: &mut IoUring) -> isize {
    loop {
        if let Some(done) = ring.completion().next() {
            return done.result() as isize;
        }
        std::hint::spin_loop();
    }
}
