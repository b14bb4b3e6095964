//! Preloaded into a dynamic program (`LD_PRELOAD`), it has another core execute the system calls that `COHO_DELEGATE` names,
//! as in `COHO_DELEGATE=stat,write`: a thread of the same process, a [host](coho_delegate::Host), on the CPUs that
//! `COHO_DELEGATE_CPUS` lists. The program waits for each answer. With `verbose` among the names, it says at the end how many
//! calls were executed by whom.
//!
//! A call that its host has not begun within 10 us, or as many as `COHO_DELEGATE_PATIENCE` says, is made at home.
//!
//! A call is delegated where nobody could tell it from one made at home:
//! - on regular files alone: what may wait for somebody else (pipes, sockets, terminals) a signal must be able to interrupt;
//! - in the process that the program began as: what it forks makes its calls itself, and so does all in it from the first
//!   change of rights on (user and group numbers, capabilities, namespaces, seccomp), as hosts would act with the old ones;
//! - not within a handler that has interrupted a delegated call.
//!
//! With `write:async` among the names, a `write` to a file returns once its payload is copied, and is done later, all of the
//! process's in the order in which they were accepted. It is done at once where a descriptor is not for that (`O_SYNC`,
//! `O_DIRECT`), where the size of files is limited, and if it is longer than 16 KiB. An error is the result of the
//! next call on the descriptor, `close` among them; the library says one at the end that nobody was told. Functions of the C library
//! that others can observe, or that depend on what was written, wait until all is done; instructions that enter the kernel without
//! it do not, nor do other processes that look at the file. A crash or SIGKILL loses what was accepted in the last
//! millisecond or so, longer if the host is off its CPU.
//!
//! Not seen are calls that the C library makes for itself, as `fwrite` and `opendir` do; programs without a dynamic C library;
//! and instructions that enter the kernel without it. A handler that leaves a delegated `read` by `longjmp` leaves the host
//! writing to the buffer. In programs that run with more rights than their user it does nothing.
#![warn(missing_docs)]

mod behind;
mod calls;
mod descriptors;
mod interpose;
mod readable;
mod real;
mod runtime;

/// The library's file.
pub const NAME: &str = "libcoho_delegate_preload.so";

/// The names that `COHO_DELEGATE` knows, but for `verbose`.
pub fn names() -> impl Iterator<Item = &'static str> {
    calls::Call::ALL.iter().map(|call| call.name())
}

/// Run when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = runtime::begin;
