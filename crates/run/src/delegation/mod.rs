//! Programs whose system calls another core executes: which calls, on which CPUs, and the variables that say so to the library.

mod cpus;
mod list;

use std::ffi::OsString;
use std::time::Duration;

pub use cpus::{Division, NoHost, Way, divide};
pub use list::{List, NAMES};

use crate::per_thread;

/// The variables that have [the library](crate::preload::Library::Delegate) delegate these calls to hosts on these CPUs. With
/// `flush`, a write waits if an earlier one was accepted longer ago and is not done.
///
/// ```
/// let set = coho_run::delegation::environment(&"stat".parse()?, &[2, 3], None);
/// assert_eq!(set, [("COHO_DELEGATE", "stat"), ("COHO_DELEGATE_CPUS", "2,3")].map(|(k, v)| (k.into(), v.into())));
/// # Ok::<(), String>(())
/// ```
pub fn environment(calls: &List, hosts: &[u32], flush: Option<Duration>) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = vec![
        ("COHO_DELEGATE".into(), calls.to_string().into()),
        ("COHO_DELEGATE_CPUS".into(), per_thread::list(hosts).into()),
    ];
    if let Some(flush) = flush {
        variables.push(("COHO_DELEGATE_FLUSH".into(), flush.as_micros().max(1).to_string().into()));
    }
    variables
}
