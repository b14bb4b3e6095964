//! Regions of one thread that begin and end by calls: `parallel` with an `if` that is false.

use std::mem::ManuallyDrop;
use std::ptr;

use libc::{c_int, c_void};

use crate::affinity::begin_alone;
use crate::exports::chosen;
use crate::here::{Membership, Region, here};
use crate::openings::{self, Entered};
use crate::pool::own;
use crate::region;

/// A region of one thread that is open. It stays where it is.
#[derive(Debug)]
pub struct Serial {
    region: Region<'static>,
    membership: Option<ManuallyDrop<Membership>>,
    before: *const Membership,
    /// Keeps the process from changing to its own runtime.
    _entered: Entered,
}

type Function = unsafe extern "C-unwind" fn(*const c_void, c_int);

pub unsafe extern "C-unwind" fn serialized_parallel(place: *const c_void, number: c_int) {
    let Some(entered) = openings::enter() else {
        // SAFETY: the runtime's function of that name has that type.
        return unsafe {
            std::mem::transmute::<*mut c_void, Function>(chosen("__kmpc_serialized_parallel"))(place, number);
        };
    };
    let own = own();
    let (_, bind) = own.asked.take();
    let region = region::alone(here(), bind);
    let mut serial = Box::new(Serial { region, membership: None, before: ptr::null(), _entered: entered });
    // SAFETY: the region is in the same box, which is kept until the membership is left.
    let membership = unsafe { Membership::new(None, &raw const serial.region, 0) };
    let membership = serial.membership.insert(ManuallyDrop::new(membership));
    begin_alone(membership);
    serial.before = membership.enter();
    own.serials.push(serial);
}

pub unsafe extern "C-unwind" fn end_serialized_parallel(place: *const c_void, number: c_int) {
    let Some(mut serial) = own().serials.pop() else {
        // It has begun in the program's own runtime. SAFETY: as above.
        return unsafe {
            std::mem::transmute::<*mut c_void, Function>(chosen("__kmpc_end_serialized_parallel"))(
                place, number,
            );
        };
    };
    let before = serial.before;
    if let Some(membership) = &mut serial.membership {
        // SAFETY: it ends here.
        unsafe { Membership::leave(membership, before) };
    }
}
