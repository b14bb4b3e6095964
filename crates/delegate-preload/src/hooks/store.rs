//! Storing jumps into code.

use std::slice;

use coho_delegate::Request;
use libc::{c_int, c_long};

use super::plan::{Plan, SLOT_BYTES, plan};
use super::{Hooked, Target};

const PAGE: usize = 4096;
/// A jump's reach, less what lies on this side of its ends.
const REACH: usize = (2 << 30) - (64 << 20);
/// Between two places that are tried.
const STEP: usize = 1 << 20;

/// Stores jumps at these entries, or at none.
pub fn store(targets: &[Target]) -> Option<Vec<Hooked>> {
    if !is_alone() {
        return None;
    }
    let page = page_near(targets.first()?.entry)?;
    let plans: Option<Vec<Plan>> = (page..page + PAGE)
        .step_by(SLOT_BYTES)
        .zip(targets)
        .map(|(slot, target)| {
            // SAFETY: a function's own bytes.
            let code = unsafe { slice::from_raw_parts(target.entry as *const u8, target.bytes) };
            plan(code, target.entry as u64, slot as u64, target.hook as u64)
        })
        .collect();
    let plans = plans?;
    for (slot, planned) in (page..).step_by(SLOT_BYTES).zip(&plans) {
        // SAFETY: the slot lies within the new page.
        unsafe { (slot as *mut [u8; SLOT_BYTES]).write(planned.slot) };
    }
    // Refused where memory that was written to may not become code.
    protect(page, PAGE, libc::PROT_READ | libc::PROT_EXEC)?;
    let code: Vec<usize> = plans.iter().flat_map(|plan| [plan.at, plan.at + 7]).map(page_of).collect();
    // The code stays code throughout: what is asked for last cannot be refused then, and these very pages may be in use.
    let writable = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let is_writable = code.iter().all(|&page| protect(page, PAGE, writable).is_some());
    if is_writable {
        plans.iter().for_each(change);
    }
    for &page in &code {
        protect(page, PAGE, libc::PROT_READ | libc::PROT_EXEC);
    }
    let hooked =
        |(target, plan): (&Target, Plan)| Hooked { entry: target.entry, original: plan.original as usize };
    is_writable.then(|| targets.iter().zip(plans).map(hooked).collect())
}

fn page_of(address: u64) -> usize {
    address as usize & !(PAGE - 1)
}

/// Whether no other thread may execute what is changed.
fn is_alone() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1)
}

/// Stores eight bytes of code at once: a handler sees all of them or none.
fn change(plan: &Plan) {
    let (at, bytes) = (plan.at, u64::from_ne_bytes(plan.bytes));
    // SAFETY: eight bytes of a function that can be written now; the processor does not mind where they lie.
    unsafe { std::arch::asm!("mov qword ptr [{}], {}", in(reg) at, in(reg) bytes, options(nostack)) };
}

/// A new page that jumps from an address and its surroundings reach.
fn page_near(address: usize) -> Option<usize> {
    let begin = address & !(STEP - 1);
    let distances = (STEP..REACH).step_by(STEP);
    let places = distances.flat_map(|distance| [begin.checked_sub(distance), begin.checked_add(distance)]);
    places.flatten().find_map(|place| {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let arguments = [place, PAGE, access as usize, kind as usize, usize::MAX, 0];
        let page = ask(libc::SYS_mmap, arguments)?;
        if page.abs_diff(address) < REACH {
            return Some(page);
        }
        // An old kernel takes the place as a wish.
        ask(libc::SYS_munmap, [page, PAGE, 0, 0, 0, 0]);
        None
    })
}

fn protect(from: usize, length: usize, access: c_int) -> Option<usize> {
    ask(libc::SYS_mprotect, [from, length, access as usize, 0, 0, 0])
}

/// Without the C library, whose code is being changed.
fn ask(number: c_long, arguments: [usize; 6]) -> Option<usize> {
    // SAFETY: mappings of this module's own, and code that stays code.
    unsafe { Request::system(number, arguments).execute().result().ok() }
}
