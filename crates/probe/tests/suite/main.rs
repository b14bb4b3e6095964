//! The experiments on the machine at hand.

mod busy;
mod calls;
mod coherence;
mod contention;
mod footprint;
mod idle;
mod idle_killed;
mod kernels;
mod loaded;
mod lost;
mod memory;
mod mpi;
mod step;
mod stop;
mod walk;
mod workload;

use coho_probe::{Around, Error, Experiment};

/// What an experiment measures on this machine while no other test measures.
fn measured<E: Experiment>(experiment: &E) -> Result<E::Section, Error> {
    let _alone = coho_testing::alone();
    experiment.measure(&mut Around::new(&coho_topology::detect()?, &mut |_| ()))
}
