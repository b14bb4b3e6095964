//! Other preloaded libraries between this one and the C library. They must go on seeing what they take: such calls go
//! through them, at home. A library that stands before this one has seen a call when it comes here.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::OnceLock;

use coho_preload::{Next, library_of, range_of};

use crate::calls::Call;
use crate::real::of;
use crate::state::LATER;

/// The functions that make each call.
const FORMS: [(Call, &[&Next]); Call::ALL.len()] = [
    (Call::Access, &[&of::access]),
    (Call::Close, &[&of::close]),
    (Call::Fsync, &[&of::fsync, &of::fdatasync]),
    (Call::Ftruncate, &[&of::ftruncate, &of::ftruncate64]),
    (Call::Mkdir, &[&of::mkdir, &of::mkdirat]),
    (Call::Open, &[&of::open, &of::open64, &of::openat, &of::openat64, &of::creat, &of::creat64]),
    (Call::Pread, &[&of::pread, &of::pread64]),
    (Call::Pwrite, &[&of::pwrite, &of::pwrite64]),
    (Call::Read, &[&of::read]),
    (Call::Rename, &[&of::rename, &of::renameat]),
    (Call::Rmdir, &[&of::rmdir]),
    (
        Call::Stat,
        &[
            &of::stat,
            &of::stat64,
            &of::lstat,
            &of::lstat64,
            &of::fstat,
            &of::fstat64,
            &of::fstatat,
            &of::fstatat64,
            &of::statx,
            &of::__xstat,
            &of::__xstat64,
            &of::__lxstat,
            &of::__lxstat64,
            &of::__fxstat,
            &of::__fxstat64,
            &of::__fxstatat,
            &of::__fxstatat64,
        ],
    ),
    (Call::Unlink, &[&of::unlink, &of::unlinkat]),
    (Call::Write, &[&of::write]),
];

/// What other libraries take of the calls that are to be delegated.
#[derive(Debug, Default)]
pub struct Taken {
    /// Without it.
    pub calls: u32,
    /// The library that tells the time in the C library's place, by which callers and hosts wait.
    pub clock: Option<String>,
    names: BTreeMap<String, Vec<&'static str>>,
}

impl Taken {
    /// Of these calls.
    pub fn of(calls: u32) -> Self {
        let clock: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> libc::c_int =
            libc::clock_gettime;
        let mut taken = Self { calls, clock: owner(clock as *const c_void), names: BTreeMap::new() };
        for (call, forms) in FORMS {
            let Some(library) = forms.iter().find_map(|form| owner(form.found())) else { continue };
            let is_later = call == Call::Write && calls & LATER != 0;
            if calls & call.bit() != 0 || is_later {
                taken.names.entry(library).or_default().push(call.name());
            }
            taken.calls &= !call.bit();
            if is_later {
                taken.calls &= !LATER;
            }
        }
        taken
    }

    /// A line for each library.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let clock = self.clock.iter().map(|library| {
            format!("{library} tells the time in the C library's place: the program makes its calls itself")
        });
        let names = self.names.iter().map(|(library, names)| {
            format!("{library} takes {}: the program makes these calls itself, through it", names.join(", "))
        });
        clock.chain(names)
    }
}

/// The library that a function is in, unless that is the C library.
pub fn owner(function: *const c_void) -> Option<String> {
    static C_LIBRARY: OnceLock<Range<usize>> = OnceLock::new();
    let c_library = C_LIBRARY.get_or_init(|| range_of(libc::__errno_location as *const () as usize));
    if c_library.contains(&(function as usize)) {
        return None;
    }
    library_of(function as usize).map(|library| library.file())
}
