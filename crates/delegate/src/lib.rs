//! Calls that another core executes, after Shimosawa, Hori and Ishikawa, "Towards a Cache-aware Operating System in Many-core
//! Architecture".
//!
//! A [`Host`] is a thread of the same process on a CPU of its own. It executes the [requests](Request) that threads post to
//! it, each through a [`Caller`] of its own: system calls, or functions. To post a request is to store into a cache line; the
//! host sees it by polling, so that the calling CPU does not enter the kernel. The answer comes back in the same line.
//!
//! ```
//! use coho_delegate::{Host, Request};
//!
//! let host = Host::builder().start()?;
//! let mut caller = host.caller();
//! // SAFETY: the call takes no pointers.
//! let answer = unsafe { caller.call(Request::system(libc::SYS_getppid, [0; 6])) };
//! assert_eq!(answer.result(), Ok(std::os::unix::process::parent_id() as usize));
//! # Ok::<(), coho_delegate::Error>(())
//! ```
//!
//! A request that the host has not begun within the caller's [patience](Caller::set_patience) is claimed back by
//! compare-and-swap, and executed by the caller. One that the host has begun is waited for, so that each is executed once.
#![warn(missing_docs)]

mod arch;
mod caller;
mod error;
mod ffi;
mod host;
mod mailbox;
mod request;
mod rest;
mod ring;
mod stall;
mod sync;
mod thread;

pub use caller::{Caller, Executor, Ticket};
pub use error::Error;
pub use host::{Host, HostBuilder};
pub use request::{Answer, Function, Request};
pub use rest::Rest;
