//! The MPI that this process uses.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use crate::abi::{Abi, Handle};
use crate::real::{Real, loaded};
use crate::roll::Roll;
use crate::{settings, table};

/// `MPI_SUCCESS`.
pub(crate) const SUCCESS: c_int = 0;
/// `MPI_THREAD_SERIALIZED`: from this level on, any thread may call MPI.
const SERIALIZED: c_int = 2;

/// A value that an MPI function writes; otherwise that it failed.
macro_rules! ask {
    ($function:expr, $($argument:expr),*) => {{
        let mut value = 0;
        // SAFETY: MPI's function of this type; it writes the last argument alone.
        let error = unsafe { ($function)($($argument,)* &raw mut value) };
        (error == $crate::mpi::SUCCESS).then_some(value)
    }};
}
pub(crate) use ask;

pub(crate) struct Mpi {
    pub(crate) real: Real,
    pub(crate) abi: Abi,
    /// This process's rank of all.
    pub(crate) rank: usize,
    /// Whether threads other than one may call MPI.
    pub(crate) has_callers: bool,
    /// The attribute by which communicators are known.
    pub(crate) keyval: c_int,
    pub(crate) roll: Roll,
}

/// Whether `MPI_Finalize` has begun.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// MPI, from when it has been initialized; `None` before, and where nothing can be served.
pub(crate) fn mpi() -> Option<&'static Mpi> {
    static MPI: OnceLock<Option<Mpi>> = OnceLock::new();
    if let Some(known) = MPI.get() {
        return known.as_ref();
    }
    let loaded = loaded()?;
    let real = Real::find(loaded)?;
    if ask!(real.initialized,)? == 0 || ask!(real.finalized,)? != 0 {
        return None;
    }
    MPI.get_or_init(|| begin(real).map_err(|why| settings::say(format_args!("MPI serves all: {why}"))).ok())
        .as_ref()
}

fn begin(real: Real) -> Result<Mpi, String> {
    let loaded = loaded().ok_or("it is not loaded")?;
    let abi = Abi::of(loaded, &real)?;
    let failed = || "MPI refuses what it must not refuse".to_owned();
    let rank = ask!(real.rank, abi.world).ok_or_else(failed)?;
    let ranks = ask!(real.size, abi.world).ok_or_else(failed)?;
    let level = ask!(real.query_thread,).ok_or_else(failed)?;
    let number = |int: c_int| usize::try_from(int).map_err(|_| failed());
    let (rank, ranks) = (number(rank)?, number(ranks)?);
    if ranks < 2 {
        return Err("there is one rank".into());
    }
    let mut keyval = 0;
    // SAFETY: the callbacks have MPI's types, and the attribute's value is never read through MPI_COMM_SELF.
    let made = unsafe {
        (real.create_keyval)(table::not_copied, table::gone, &raw mut keyval, std::ptr::null_mut()) == SUCCESS
            && (real.set_attr)(abi.self_, keyval, std::ptr::null_mut()) == SUCCESS
    };
    if !made {
        return Err(failed());
    }
    let roll = Roll::enter(rank, ranks)?;
    Ok(Mpi { real, abi, rank, has_callers: level >= SERIALIZED, keyval, roll })
}

/// Called when `MPI_Finalize` begins, which first ends the attributes of `MPI_COMM_SELF`.
pub(crate) fn ends(mpi: &Mpi) {
    IS_ENDING.store(true, Relaxed);
    mpi.roll.close();
}

impl Mpi {
    /// Whether `MPI_Finalize` has begun, in which nothing is called that others must call as well.
    pub(crate) fn is_ending(&self) -> bool {
        IS_ENDING.load(Relaxed)
    }

    /// The ranks of all that a communicator has; `None` if some rank is another job's, or it has two groups.
    pub(crate) fn members(&self, comm: Handle) -> Option<Vec<c_int>> {
        let real = &self.real;
        if ask!(real.test_inter, comm)? != 0 {
            return None;
        }
        let ranks = ask!(real.size, comm)?;
        let own: Vec<c_int> = (0..ranks).collect();
        let mut members = vec![0; own.len()];
        let mut groups = [ask!(real.group, comm)?, ask!(real.group, self.abi.world)?];
        // SAFETY: both lists have so many ranks.
        let translated = unsafe {
            (real.translate)(groups[0], ranks, own.as_ptr(), groups[1], members.as_mut_ptr()) == SUCCESS
        };
        for group in &mut groups {
            // SAFETY: got above.
            unsafe { (real.group_free)(group) };
        }
        // MPI_UNDEFINED is negative.
        (translated && members.iter().all(|&rank| rank >= 0)).then_some(members)
    }

    /// Whether all ranks of a communicator say yes.
    pub(crate) fn all_agree(&self, comm: Handle, yes: bool) -> bool {
        let (own, mut all) = (c_int::from(yes), 0 as c_int);
        let (from, to) = ((&raw const own).cast::<c_void>(), (&raw mut all).cast::<c_void>());
        // SAFETY: an int each.
        let error = unsafe { (self.real.allreduce)(from, to, 1, self.abi.int, self.abi.min, comm) };
        error == SUCCESS && all == 1
    }
}
