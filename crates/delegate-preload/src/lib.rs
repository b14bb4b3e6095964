//! Preloaded into a dynamic program (`LD_PRELOAD`), it has another core execute the system calls that `COHO_DELEGATE` names,
//! as in `COHO_DELEGATE=stat,write`: a thread of the same process, a [host](coho_delegate::Host), on each of the CPUs that
//! `COHO_DELEGATE_CPUS` lists. Hosts take the program's threads in turn. Calls may have hosts of their own, as in
//! `COHO_DELEGATE_CPUS="2,3 write=4"`. The program waits for each answer. With `verbose` among the names, the library prints at
//! exit how many calls were delegated, and how many of them hosts executed. If `COHO_DELEGATE_TURNS` names a file, processes
//! take turns by it: all calls of a process have one of the CPUs of each list.
//!
//! A call that its host has not begun within 10 us, or as many as `COHO_DELEGATE_PATIENCE` says, is made at home. If such waits
//! take more than a small part of the time, so are the calls after it for a multiple of what was lost, longer each time that
//! it happens again soon.
//!
//! A call is delegated if the program is not expected to notice:
//! - Calls on descriptors are delegated on regular files only. A signal must be able to interrupt what may wait for somebody
//!   else (pipes, sockets, terminals, FUSE), and the kernel makes up some files for the thread that asks (`/proc`, `/sys`,
//!   cgroups). Of calls on paths, those below `/proc` and opens of anything but files and folders are made at home.
//! - Only the process that the program began as delegates. What it forks makes its calls itself, and so does all in it once a
//!   thread has something of its own that hosts have not: rights, descriptors, folders, namespaces, limits. The page on
//!   delegation lists the calls.
//! - Calls are made at home within a handler that has interrupted a delegated call, in the child of a `vfork`, and in a
//!   thread that can be cancelled anywhere (`PTHREAD_CANCEL_ASYNCHRONOUS`). A thread makes its first 64 such calls itself.
//!
//! With `write:async` among the names, a `write` to a file returns once its payload is copied, and is done later, all of the
//! process's in the order in which they were accepted. It is done at once if it is longer than 16 KiB, if the descriptor asks
//! for that (`O_SYNC`, `O_DIRECT`), if memory of the process shows the file (`MAP_SHARED`), or if the size of files is limited.
//! An error is the result of the next read, write, `fsync`, `ftruncate` or `close` on the descriptor, or on one that was made of
//! it by `dup`; what was accepted for it meanwhile is dropped. The library prints errors at exit that were not reported.
//! Functions of the C library that others can observe, or that depend on what was written, wait until all is done. Instructions
//! that enter the kernel without the C library do not, nor do other processes that look at the file.
//!
//! A crash, SIGKILL or another signal that ends the program loses what was accepted and is not done: at most 16 writes. While
//! the program goes on writing, these are no older than `COHO_DELEGATE_FLUSH` says, in microseconds, 1000 if it is not set: a
//! write that finds an older one undone waits until it is done. If the program stops writing while the host is off its CPU, nothing
//! bounds their age but the functions that wait. A thread that waits does what the host has not begun if that finishes no write
//! for 100 us, or as many as `COHO_DELEGATE_PATIENCE` says.
//!
//! With `auto` among the names, calls whose answers the program waits for are delegated only while that makes it quicker. Each
//! thread tries it now and then, for each call and by the length of its payload, in blocks made at home and delegated in turn:
//! the first time after 8192 calls less than 50 us apart. It delegates if the 99 % interval of the median difference says that
//! this gains, and looks again later. A host that nobody uses ends. `verbose` prints what was found.
//!
//! `COHO_DELEGATE_LEAVES` lists CPUs that a thread keeps off while it tries or delegates by `auto`: the program may use them until
//! then, and again once nothing gains. If the program has as many busy threads as CPUs, nothing is tried or delegated. A thread
//! has its CPUs back before it makes a thread or a process, executes another program, or asks for its CPUs.
//!
//! Calls that the C library makes for itself are seen on x86-64 with glibc 2.34 or newer: what stdio writes, reads, seeks and
//! closes, and the open of `fopen`. There the library stores jumps at the entries of `write`, `read`, `close`, `lseek`, `open` and
//! `openat` when it is loaded, unless the program has other threads by then, another preloaded library stands before the same
//! function, the system lets nobody change code, or the code is not as expected. Elsewhere stdio's functions wait for writes that
//! were accepted, and make their calls themselves; `verbose` says so.
//!
//! Limits:
//! - Not seen are other calls that the C library makes for itself, as `opendir`, `glob` and streams opened with `c` do,
//!   programs without a dynamic C library, and instructions that enter the kernel without it.
//! - A handler that leaves a delegated `read` by `longjmp` leaves the host writing to the buffer. One that so leaves a write
//!   that is being accepted has all later ones of its thread done at once, and other threads wait without end.
//! - The host passes where a memory protection key of its thread would have stopped the caller.
//! - A program that counts its threads counts hosts: Python from 3.12 on warns of them where it forks.
//! - In programs that run with more rights than their user the library does nothing.
#![warn(missing_docs)]

mod auto;
mod begin;
mod calls;
mod choices;
mod cpus;
mod delegation;
mod descriptors;
mod ending;
mod guards;
#[cfg_attr(not(all(target_arch = "x86_64", target_env = "gnu")), path = "hooks/none.rs")]
mod hooks;
mod hosts;
mod interpose;
mod mask;
mod mine;
mod others;
mod readable;
mod real;
mod sharing;
mod state;
mod teams;
mod thread;
mod turn;
mod write_queue;

/// The library's file.
pub const NAME: &str = "libcoho_delegate_preload.so";

/// The calls that `COHO_DELEGATE` can name, for callers that wait.
pub fn names() -> impl Iterator<Item = &'static str> {
    calls::Call::ALL.iter().map(|call| call.name())
}

/// Run when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin::begin;
