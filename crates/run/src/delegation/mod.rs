//! Programs whose system calls another core executes: which calls, on which CPUs, and the environment variables that
//! tell the library.

mod cpus;
mod error;
mod hosts;
mod list;

use std::ffi::OsString;
use std::time::Duration;

pub use coho_model::delegation::NAMES;
use coho_topology::CpuSet;
pub use cpus::{Division, NoHost, Way, divide};
pub use error::Error;
pub use hosts::HostCpus;
pub use list::List;

use crate::per_thread;

/// The variables that make [the library](crate::preload::Library::Delegate) delegate these calls to these hosts. With
/// `auto`, a thread keeps off the CPUs in `leaves` only while it delegates; until then it may use them. With `flush`, a
/// write waits if an earlier one was accepted longer ago and is not done.
///
/// ```
/// use coho_run::delegation::environment;
/// use coho_topology::CpuSet;
/// let hosts = ["2-3".parse()?, "open=4".parse()?];
/// let set = environment(&"stat,open".parse()?, &hosts, &CpuSet::default(), None);
/// let expected = [("COHO_DELEGATE", "stat,open"), ("COHO_DELEGATE_CPUS", "2,3 open=4")];
/// assert_eq!(set, expected.map(|(name, value)| (name.into(), value.into())));
/// # Ok::<(), coho_run::delegation::Error>(())
/// ```
pub fn environment(
    calls: &List,
    hosts: &[HostCpus],
    leaves: &CpuSet,
    flush: Option<Duration>,
) -> Vec<(OsString, OsString)> {
    let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
    let mut variables: Vec<(OsString, OsString)> = vec![
        ("COHO_DELEGATE".into(), calls.to_string().into()),
        ("COHO_DELEGATE_CPUS".into(), hosts.join(" ").into()),
    ];
    if !leaves.is_empty() {
        let leaves: Vec<_> = leaves.iter().collect();
        variables.push(("COHO_DELEGATE_LEAVES".into(), per_thread::list(&leaves).into()));
    }
    if let Some(flush) = flush {
        variables.push(("COHO_DELEGATE_FLUSH".into(), flush.as_micros().max(1).to_string().into()));
    }
    variables
}
