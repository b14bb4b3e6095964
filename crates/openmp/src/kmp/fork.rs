//! Opening regions.

use std::cell::Cell;

use libc::{c_int, c_void};

use super::arguments::{LEAST, Micro, call, of_words, word};
use super::number;
use crate::exports::chosen;
use crate::here::here;
use crate::openings;
use crate::pool::own;
use crate::region::{Begin, open};

/// What the compiler has asked for the thread's next region.
#[derive(Debug, Default)]
pub struct Asked {
    /// 0: as many as usual.
    threads: Cell<u32>,
    /// OpenMP's number of a policy; 0: the usual one.
    bind: Cell<u32>,
}

impl Asked {
    /// What is asked is asked for one region.
    #[inline(always)]
    pub fn take(&self) -> (u32, u32) {
        (self.threads.take(), self.bind.take())
    }
}

/// What a region's members call, on one line, which they fetch from the opener. Its address is handed over with the number of
/// words in the low bits.
#[repr(C, align(64))]
struct Call {
    micro: Micro,
    /// The words, or if there are more, their address and their number.
    words: [usize; Self::NEAR],
}

impl Call {
    const NEAR: usize = 7;
    /// In place of a number: there are more words.
    const FAR: usize = Self::NEAR + 1;
    const BITS: usize = align_of::<Self>() - 1;
}

const _: () = assert!(Call::NEAR >= LEAST && Call::FAR <= Call::BITS && size_of::<Call>() == 64);

/// Calls a region's function as the calling thread's part of the region.
///
/// # Safety
/// As [`call`] says.
#[inline(always)]
pub(super) unsafe fn call_here(micro: Micro, count: usize, words: *const usize) {
    let (number, rank) = (number(), here().rank as c_int);
    // SAFETY: as the caller promises.
    unsafe { call(micro, &raw const number, &raw const rank, count, words) };
}

unsafe extern "C-unwind" fn body(data: *mut c_void) {
    // SAFETY: `begin` has put this together.
    unsafe {
        let call = &*data.map_addr(|address| address & !Call::BITS).cast::<Call>();
        match data.addr() & Call::BITS {
            Call::FAR => {
                call_here(call.micro, call.words[1], std::ptr::with_exposed_provenance(call.words[0]));
            }
            count => call_here(call.micro, count, call.words.as_ptr()),
        }
    }
}

/// Opens a region as asked.
///
/// # Safety
/// The compiler's function and its words.
#[inline(always)]
unsafe fn begin(micro: Micro, count: usize, word: impl Fn(usize) -> usize) {
    let (threads, bind) = own().asked.take();
    // Members' numbers depend on the opener's.
    number();
    let (mut call, mut far) = (Call { micro, words: [0; Call::NEAR] }, Vec::new());
    let mut bits = count;
    if count > Call::NEAR {
        far.extend((0..count).map(word));
        (call.words[0], call.words[1]) = (far.as_ptr().expose_provenance(), count);
        bits = Call::FAR;
    } else {
        call.words.iter_mut().take(count).enumerate().for_each(|(at, place)| *place = word(at));
    }
    let data = (&raw const call).map_addr(|address| address | bits);
    // SAFETY: the compiler's; the call outlasts the region.
    unsafe { open(body, data.cast_mut().cast(), threads, bind, Begin::Nothing) };
}

/// # Safety
/// The compiler's.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn fork_call() {
    of_words!(fork)
}

unsafe extern "C-unwind" fn fork(
    _place: *const c_void,
    count: c_int,
    micro: Micro,
    registers: *const usize,
    stack: *const usize,
) -> *mut c_void {
    let Some(_entered) = openings::enter() else {
        pass_on_what_is_asked();
        return chosen("__kmpc_fork_call");
    };
    let count = count.max(0) as usize;
    // SAFETY: the compiler's.
    unsafe { begin(micro, count, |at| word(at, registers, stack)) };
    std::ptr::null_mut()
}

/// Tells the program's own runtime, which is to open the region, what was asked for it.
#[cold]
fn pass_on_what_is_asked() {
    type Function = unsafe extern "C" fn(*const c_void, c_int, c_int);
    let (threads, bind) = own().asked.take();
    for (asked, name) in [(threads, "__kmpc_push_num_threads"), (bind, "__kmpc_push_proc_bind")] {
        if asked > 0 {
            // SAFETY: the runtime's functions of these names have that type.
            unsafe {
                std::mem::transmute::<*mut c_void, Function>(chosen(name))(
                    std::ptr::null(),
                    number(),
                    asked as c_int,
                );
            }
        }
    }
}

/// A region that may be one of one thread, with a word if there is one.
pub unsafe extern "C-unwind" fn fork_call_if(
    place: *const c_void,
    count: c_int,
    micro: Micro,
    forks: c_int,
    word: usize,
) {
    let Some(_entered) = openings::enter() else {
        type Function = unsafe extern "C-unwind" fn(*const c_void, c_int, Micro, c_int, usize);
        pass_on_what_is_asked();
        // SAFETY: the runtime's function of that name has that type.
        return unsafe {
            std::mem::transmute::<*mut c_void, Function>(chosen("__kmpc_fork_call_if"))(
                place, count, micro, forks, word,
            );
        };
    };
    if forks == 0 {
        own().asked.take();
        own().asked.threads.set(1);
    }
    // SAFETY: the compiler's.
    unsafe { begin(micro, count.clamp(0, 1) as usize, |_| word) };
}

pub extern "C" fn push_num_threads(_place: *const c_void, _number: c_int, threads: c_int) {
    own().asked.threads.set(threads.max(0) as u32);
}

pub extern "C" fn pop_num_threads() {
    own().asked.threads.set(0);
}

/// LLVM's numbers of policies are OpenMP's.
pub extern "C" fn push_proc_bind(_place: *const c_void, _number: c_int, policy: c_int) {
    own().asked.bind.set((policy.max(0) as u32) & 7);
}
