//! The command as a plan runs it: its libraries and their environment.

use std::env;
use std::ffi::OsString;

use coho_model::barrier::quickest_measured;
use coho_profile::Profile;

use super::chosen::Chosen;
use super::execute::Execution;
use super::{Delegation, Error, Pinned};
use crate::child::Job;
use crate::per_thread;
use crate::preload::{self, Library};

impl Execution<'_> {
    /// The command under a placement, with its delegation.
    pub(super) fn job(&self, chosen: &Chosen, delegation: Option<&Delegation>) -> Result<Job, Error> {
        let order = &chosen.choice.order;
        let openmp = self.wish.openmp.is_some();
        let pinned = self.wish.location.pinned.filter(|_| chosen.is_placed());
        let mut environment = Vec::new();
        let mut libraries = Vec::new();
        if self.wish.location.omp_places || openmp && chosen.is_placed() {
            environment.extend(omp_places(order));
        }
        if pinned == Some(Pinned::Threads) {
            environment.push(per_thread::environment(order));
        }
        if pinned.is_some() {
            libraries.push(Library::Pin);
        }
        if openmp {
            environment.extend(barrier(chosen, self.machine.profile.as_ref()));
            if self.wish.finds_threads() {
                environment.push(("COHO_OPENMP_THREADS".into(), "auto".into()));
            }
            libraries.push(Library::OpenMp);
        }
        if self.wish.mpi.is_some() {
            libraries.push(Library::Mpi);
        }
        if let Some(delegation) = delegation {
            environment.extend(delegation.environment());
            libraries.push(Library::Delegate);
        }
        // It has been said why, if the program would only say that it ends.
        let is_ended = self.wish.command.first().is_some_and(preload::ends_program);
        if !libraries.is_empty() && !is_ended {
            environment.push(preload::variable(&libraries)?);
        }
        let deal = if pinned == Some(Pinned::Processes) { order.clone() } else { Vec::new() };
        let command = self.wish.command.clone();
        let hosts_in_turn = delegation.is_some_and(|delegation| delegation.per_process);
        Ok(Job { command, cpus: chosen.mask(), environment, deal, hosts_in_turn, ..Job::default() })
    }
}

/// Variables that give these CPUs to OpenMP's threads in this order. The order already spreads them, so `close` keeps
/// to it, however many threads there are.
fn omp_places(order: &[u32]) -> [(OsString, OsString); 2] {
    let places: Vec<_> = order.iter().map(|cpu| format!("{{{cpu}}}")).collect();
    [("OMP_PLACES".into(), places.join(",").into()), ("OMP_PROC_BIND".into(), "close".into())]
}

/// The quickest barrier for a team of all its CPUs, if it was measured.
fn barrier(chosen: &Chosen, profile: Option<&Profile>) -> Option<(OsString, OsString)> {
    if env::var_os("COHO_OPENMP_BARRIER").is_some() {
        return None;
    }
    let threads = match env::var("OMP_NUM_THREADS") {
        Ok(list) => list.split(',').next()?.trim().parse().ok()?,
        Err(_) => u32::try_from(chosen.choice.cpus.len()).ok()?,
    };
    let barrier = quickest_measured(profile?.sync.as_ref()?, threads)?;
    Some(("COHO_OPENMP_BARRIER".into(), barrier.into()))
}
