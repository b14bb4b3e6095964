//! The other process: a copy of this one that answers.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use coho_platform::pages::Pages;
use coho_platform::{pin, stolen, timer};

use super::shared::{Both, wait};
use super::{Lost, Untimed, Way};
use crate::Error;

/// The longest life of the process, longer than any series of messages takes, so that it does not outlive a lost
/// starter.
const LIFE: Duration = Duration::from_secs(300);

/// Messages to answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    pub(super) way: usize,
    pub(super) bytes: usize,
    pub(super) rounds: u64,
}

/// The memory that both processes write.
#[derive(Debug, Default)]
struct Board {
    /// Number of the order; 0 before the first.
    order: AtomicU64,
    way: AtomicU64,
    bytes: AtomicU64,
    rounds: AtomicU64,
    /// Number of the last order that was carried out.
    done: AtomicU64,
    /// Whether the process was interrupted meanwhile.
    disturbed: AtomicU64,
}

/// A process on another CPU that answers messages until this value is dropped.
pub(super) struct Partner {
    pid: libc::pid_t,
    board: Both<Board>,
}

impl Partner {
    /// Starts a process on this CPU that answers by these ways; it receives into `pages`, its own copy of them.
    ///
    /// # Errors
    /// If there is no room for a process.
    pub(super) fn start(cpu: u32, mut ways: Vec<Box<dyn Way>>, pages: &Pages) -> Result<Self, Error> {
        let board: Both<Board> = Both::new()?;
        // SAFETY: the new process has this thread alone. It makes system calls and calls functions that allocate
        // little or nothing: the C libraries of Linux keep malloc usable after fork.
        let pid = unsafe { libc::fork() };
        if pid < 0 {
            return Err(Error::system("no process", io::Error::last_os_error()));
        }
        if pid == 0 {
            let answered = catch_unwind(AssertUnwindSafe(|| {
                set_up(cpu).map_err(|_| Lost::Silent)?;
                // SAFETY: asks for a number.
                let starter = unsafe { libc::getppid() };
                ways.iter_mut().for_each(|way| way.meet(starter));
                pages.touch();
                answer(&board, &mut ways, pages)
            }));
            // SAFETY: ends the process at once; the copy must not run this program's exit handlers.
            unsafe { libc::_exit(i32::from(!matches!(answered, Ok(Ok(()))))) };
        }
        Ok(Self { pid, board })
    }

    /// The process.
    pub(super) fn pid(&self) -> libc::pid_t {
        self.pid
    }

    /// Orders messages to be answered; returns the number of the order.
    pub(super) fn begin(&self, order: Order) -> u64 {
        let number = self.board.order.load(Relaxed) + 1;
        self.board.way.store(order.way as u64, Relaxed);
        self.board.bytes.store(order.bytes as u64, Relaxed);
        self.board.rounds.store(order.rounds, Relaxed);
        self.board.order.store(number, Release);
        number
    }

    /// Waits until an order has been carried out; returns whether nothing interrupted the process.
    pub(super) fn end(&self, number: u64) -> Result<bool, Lost> {
        wait(|| self.board.done.load(Acquire) == number)?;
        Ok(self.board.disturbed.load(Relaxed) == 0)
    }

    /// Why no answer comes.
    pub(super) fn why_lost(&self, path: &str) -> Error {
        let mut status = 0;
        // SAFETY: a status to write to; the process is this one's child, and is not waited for elsewhere before.
        let ended = unsafe { libc::waitpid(self.pid, &mut status, libc::WNOHANG) } == self.pid;
        let why = if ended { "the other process has ended" } else { "the other process does not answer" };
        Error::work(format!("{path}: {why}"))
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        // SAFETY: the process is this one's child. If it was waited for already, both calls fail, as there is none.
        unsafe {
            if libc::waitpid(self.pid, std::ptr::null_mut(), libc::WNOHANG) == 0 {
                libc::kill(self.pid, libc::SIGKILL);
                libc::waitpid(self.pid, std::ptr::null_mut(), 0);
            }
        }
    }
}

/// Puts the new process on its CPU, to end with the thread that started it.
fn set_up(cpu: u32) -> Result<(), Error> {
    // SAFETY: no pointers. Signals from a terminal come to the starter as well, which then ends this process.
    unsafe {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
            libc::signal(signal, libc::SIG_IGN);
        }
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
            return Err(Error::system("prctl", io::Error::last_os_error()));
        }
    }
    timer::die_after(LIFE).map_err(|error| Error::system("no timer", error))?;
    Ok(pin::to(cpu)?)
}

/// Carries out orders for as long as any come.
fn answer(board: &Board, ways: &mut [Box<dyn Way>], pages: &Pages) -> Result<(), Lost> {
    let mut number = 0;
    loop {
        number += 1;
        wait(|| board.order.load(Acquire) == number)?;
        let bytes = board.bytes.load(Relaxed) as usize;
        let way = &mut ways[board.way.load(Relaxed) as usize];
        assert!(bytes <= pages.bytes());
        // SAFETY: within this process's own copy of the pages, which nothing else refers to.
        let message = unsafe { std::slice::from_raw_parts_mut(pages.start().as_ptr(), bytes) };
        let before = stolen::involuntary_switches();
        let mut round = || {
            way.receive(message, &mut Untimed)?;
            if let Some(first) = message.first_mut() {
                *first = first.wrapping_add(1);
            }
            way.send(message, &mut Untimed)
        };
        for _ in 0..board.rounds.load(Relaxed) {
            match round() {
                Ok(()) => {}
                // The starter gets the same error; other ways go on.
                Err(Lost::Refused(_)) => break,
                Err(Lost::Silent) => return Err(Lost::Silent),
            }
        }
        let disturbed = stolen::involuntary_switches() != before;
        board.disturbed.store(u64::from(disturbed), Relaxed);
        board.done.store(number, Release);
    }
}
