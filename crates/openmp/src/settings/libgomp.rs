//! How libgomp has understood the environment. It reads the variables when it is loaded, before this library, and warns
//! about nonsense, so its grammar is the one that counts.

use std::ffi::c_void;

use coho_preload::Mask;
use libc::c_int;

use crate::exports::resolved;

/// libgomp's answers; `None` for what it is too old to know, or if there is no libgomp.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    pub threads: Option<u32>,
    pub processors: Option<u32>,
    pub is_dynamic: Option<bool>,
    pub cancels: Option<bool>,
    pub max_active_levels: Option<u32>,
    pub thread_limit: Option<u32>,
    pub max_task_priority: Option<u32>,
    /// The schedule's number and chunk.
    pub schedule: Option<(c_int, c_int)>,
    /// The number of the first level's policy.
    pub bind: Option<c_int>,
    pub device: Option<c_int>,
    pub allocator: Option<usize>,
    pub places: Vec<Mask>,
}

type Number = unsafe extern "C" fn() -> c_int;

/// A function of libgomp's, of this type.
macro_rules! function {
    ($name:literal: $kind:ty) => {
        resolved(concat!($name, "\0"))
            // SAFETY: libgomp's function of that name has that type.
            .map(|found| unsafe { std::mem::transmute::<*mut c_void, $kind>(found) })
    };
}

/// Asks it. To be done outside all regions.
pub fn ask() -> Answers {
    // SAFETY: the functions only tell what libgomp has read.
    let number = |function: Option<Number>| function.map(|function| unsafe { function() });
    let count = |function| number(function).and_then(|number| u32::try_from(number).ok());
    let schedule = function!("omp_get_schedule": unsafe extern "C" fn(*mut c_int, *mut c_int)).map(|get| {
        let (mut kind, mut chunk) = (0, 0);
        // SAFETY: as above.
        unsafe { get(&raw mut kind, &raw mut chunk) };
        (kind, chunk)
    });
    let allocator = function!("omp_get_default_allocator": unsafe extern "C" fn() -> usize);
    Answers {
        threads: count(function!("omp_get_max_threads": Number)),
        processors: count(function!("omp_get_num_procs": Number)),
        cancels: number(function!("omp_get_cancellation": Number)).map(|cancels| cancels != 0),
        is_dynamic: number(function!("omp_get_dynamic": Number)).map(|dynamic| dynamic != 0),
        max_active_levels: count(function!("omp_get_max_active_levels": Number)),
        thread_limit: count(function!("omp_get_thread_limit": Number)),
        max_task_priority: count(function!("omp_get_max_task_priority": Number)),
        schedule,
        bind: number(function!("omp_get_proc_bind": Number)),
        // SAFETY: as above.
        allocator: allocator.map(|get| unsafe { get() }),
        device: number(function!("omp_get_default_device": Number)),
        places: places().unwrap_or_default(),
    }
}

fn places() -> Option<Vec<Mask>> {
    let count = function!("omp_get_num_places": Number)?;
    let size = function!("omp_get_place_num_procs": unsafe extern "C" fn(c_int) -> c_int)?;
    let cpus = function!("omp_get_place_proc_ids": unsafe extern "C" fn(c_int, *mut c_int))?;
    let place = |place| {
        // SAFETY: as above, and there is room for the place's CPUs.
        unsafe {
            let mut ids = vec![0; usize::try_from(size(place)).unwrap_or(0)];
            cpus(place, ids.as_mut_ptr());
            ids.into_iter().filter_map(|cpu| u32::try_from(cpu).ok()).collect()
        }
    };
    // SAFETY: as above.
    Some((0..unsafe { count() }).map(place).collect())
}
