//! The thread for which a rank stands at a barrier of processes: its end is the rank's. Where any thread may call MPI, none
//! that calls may be it, since it could end earlier.

use std::ptr;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

type Task = Box<dyn FnOnce() + Send>;

/// Runs a piece of work on the keeper and waits for its end; `None` if there is no thread to be had.
pub(crate) fn keep<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (told, done) = channel();
    let task: Task = Box::new(move || drop(told.send(work())));
    tasks()?.lock().unwrap_or_else(PoisonError::into_inner).send(task).ok()?;
    done.recv().ok()
}

/// Where the keeper takes its work from. It begins with the first, and ends with the process.
fn tasks() -> Option<&'static Mutex<Sender<Task>>> {
    static TASKS: OnceLock<Option<Mutex<Sender<Task>>>> = OnceLock::new();
    let begin = || {
        let (tasks, work) = channel::<Task>();
        let run = move || work.iter().for_each(|task| task());
        // Signals are for the program's threads.
        let begun = without_signals(|| thread::Builder::new().name("coho-mpi".into()).spawn(run));
        begun.ok().map(|_| Mutex::new(tasks))
    };
    TASKS.get_or_init(begin).as_ref()
}

fn without_signals<T>(begin: impl FnOnce() -> T) -> T {
    // SAFETY: sets of signals on the stack, filled before they are read.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let begun = begin();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_work_is_done_by_one_thread_that_takes_no_signals() {
        let look = || {
            // SAFETY: a set of signals on the stack.
            let blocked = unsafe {
                let mut set = std::mem::zeroed();
                libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut set);
                libc::sigismember(&raw const set, libc::SIGTERM) == 1
            };
            (thread::current().id(), blocked)
        };
        let (first, blocked) = keep(look).unwrap();
        assert!(blocked && first != thread::current().id());
        let second = thread::spawn(move || keep(look).unwrap()).join().unwrap();
        assert_eq!(second, (first, true));
    }
}
