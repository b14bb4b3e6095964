//! Places, as programs ask for them.

use coho_preload::Mask;
use libc::c_int;

use crate::here::here;
use crate::settings::{Bind, settings};

fn places() -> &'static [Mask] {
    settings().places.as_deref().unwrap_or_default()
}

fn cpus(place: c_int) -> Vec<u32> {
    let place = usize::try_from(place).ok().and_then(|place| places().get(place));
    place.map(|place| place.iter().collect()).unwrap_or_default()
}

/// OpenMP's number of the policy that the next region has.
pub extern "C" fn get_proc_bind() -> c_int {
    match here().variables().bind {
        Bind::False => 0,
        Bind::True => 1,
        Bind::Primary => 2,
        Bind::Close => 3,
        Bind::Spread => 4,
    }
}

pub extern "C" fn get_num_places() -> c_int {
    places().len() as c_int
}

pub extern "C" fn get_place_num() -> c_int {
    if places().is_empty() { -1 } else { here().part().map_or(0, |share| share.place as c_int) }
}

pub extern "C" fn get_place_num_procs(place: c_int) -> c_int {
    cpus(place).len() as c_int
}

pub unsafe extern "C" fn get_place_proc_ids(place: c_int, ids: *mut c_int) {
    for (at, cpu) in cpus(place).into_iter().enumerate() {
        // SAFETY: the program has room for the place's CPUs.
        unsafe { *ids.add(at) = cpu as c_int };
    }
}

/// The first place of the thread's part, and how many there are.
fn part() -> (c_int, c_int) {
    here().part().map_or((0, get_num_places()), |share| (share.first as c_int, share.count as c_int))
}

pub extern "C" fn get_partition_num_places() -> c_int {
    part().1
}

pub unsafe extern "C" fn get_partition_place_nums(numbers: *mut c_int) {
    let (first, count) = part();
    for offset in 0..count {
        // SAFETY: the program has room for its places.
        unsafe { *numbers.add(offset as usize) = first + offset };
    }
}

pub unsafe extern "C" fn get_place_proc_ids_(place: *const i32, ids: *mut i32) {
    // SAFETY: the program's variables.
    unsafe { get_place_proc_ids(*place, ids) };
}

pub unsafe extern "C" fn get_place_proc_ids_8_(place: *const i64, ids: *mut i64) {
    // SAFETY: as above, and room for the place's CPUs.
    unsafe {
        for (at, cpu) in cpus((*place).clamp(-1, c_int::MAX.into()) as c_int).into_iter().enumerate() {
            *ids.add(at) = cpu.into();
        }
    }
}

pub unsafe extern "C" fn get_partition_place_nums_8_(numbers: *mut i64) {
    let (first, count) = part();
    for offset in 0..count {
        // SAFETY: the program has room for its places.
        unsafe { *numbers.add(offset as usize) = (first + offset).into() };
    }
}
