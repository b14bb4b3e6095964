//! The CPUs that a thread leaves to the hosts while it delegates by `auto`, and takes back with what it may use besides.
//!
//! `COHO_DELEGATE_LEAVES` lists them. Before a first trial, and where nothing gains, the program has all of its CPUs.

use std::sync::OnceLock;

use coho_delegate::Request;

use crate::mask::{Left, Mask, WORDS, allow, allowed, without};
use crate::state;
use crate::thread::this;

/// Threads use a little more than they keep busy: the system's own work, and those that wake for short.
const SLACK: f32 = 0.25;

struct Shared {
    cpus: Mask,
    /// The program's CPUs without the shared ones, if it has any of these.
    others: Option<u32>,
}

static SHARED: OnceLock<Shared> = OnceLock::new();

/// Where the calling thread keeps that: in pages of its own, which a handler may ask for, as it may not ask for other memory.
fn place() -> Option<*mut Left> {
    let place = &this().left;
    if place.get().is_null() {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let arguments = [0, size_of::<Left>(), access as usize, kind as usize, usize::MAX, 0];
        // SAFETY: new pages.
        let at = unsafe { Request::system(libc::SYS_mmap, arguments).execute() }.result().ok()?;
        place.set(std::ptr::with_exposed_provenance_mut(at));
    }
    Some(place.get())
}

/// The calling thread ends.
pub fn forget() {
    let at = this().left.replace(std::ptr::null_mut());
    if !at.is_null() {
        this().has_left.set(false);
        let arguments = [at.expose_provenance(), size_of::<Left>(), 0, 0, 0, 0];
        // SAFETY: nobody else knows the pages.
        unsafe { Request::system(libc::SYS_munmap, arguments).execute() };
    }
}

/// These are to be left. The calling thread's CPUs are the program's.
pub fn share(list: &[u32]) {
    let mut cpus = [0; WORDS];
    for &cpu in list {
        if let Some(word) = cpus.get_mut(cpu as usize / 64) {
            *word |= 1 << (cpu % 64);
        }
    }
    let Some(program) = allowed() else { return };
    let count = |mask: &Mask| mask.iter().map(|word| word.count_ones()).sum::<u32>();
    let others = count(&without(&program, &cpus));
    let others = (others < count(&program)).then_some(others);
    // The first to come has the process.
    let _ = SHARED.set(Shared { cpus, others });
}

/// Whether threads leave CPUs that the program has.
pub fn are_shared() -> bool {
    SHARED.get().is_some_and(|shared| shared.others.is_some())
}

/// Whether this many busy threads have enough CPUs without the shared ones.
pub fn are_enough(busy: f32) -> bool {
    let others = SHARED.get().and_then(|shared| shared.others);
    others.is_none_or(|others| busy <= others as f32 + SLACK)
}

/// The hosts' CPUs that the calling thread may not use: the program goes without them, whether or not there are hosts.
pub fn left_to_hosts() -> Vec<u32> {
    let Some(allowed) = allowed().filter(|_| state::is_set()) else { return Vec::new() };
    let has = |cpu: u32| allowed.get(cpu as usize / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1);
    state::teams().all_cpus().into_iter().filter(|&cpu| !has(cpu)).collect()
}

/// Has the calling thread keep off the shared CPUs. Whether it has another.
pub fn leave() -> bool {
    let Some(shared) = SHARED.get() else { return true };
    if this().has_left.get() {
        return true;
    }
    let (Some(before), Some(place)) = (allowed(), place()) else { return false };
    let kept = without(&before, &shared.cpus);
    if kept == before {
        return true;
    }
    if kept == [0; WORDS] || !allow(&kept) {
        return false;
    }
    // SAFETY: the pages are the thread's own, and nothing refers to what is in them.
    unsafe { place.write(Left { before, kept }) };
    this().has_left.set(true);
    true
}

/// Gives the calling thread back what it has left, unless the program has set its CPUs meanwhile. Threads and processes that it
/// makes have the CPUs that it has then.
#[inline(always)]
pub fn give_back() {
    if this().has_left.get() {
        give_all_back();
    }
}

#[cold]
fn give_all_back() {
    // SAFETY: they were written when the thread left.
    let Left { before, kept } = unsafe { this().left.get().read() };
    this().has_left.set(false);
    if allowed() == Some(kept) {
        allow(&before);
    }
}
