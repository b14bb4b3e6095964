//! The program and its libraries, as far as they are loaded.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use coho_recording::{Record, Writer};
use libc::dl_phdr_info;

use super::allocations::{self, Told};
use super::thread::{self, this};

/// Loads and unloads until they were recorded last.
static RECORDED: AtomicU64 = AtomicU64::new(0);

/// In a forked process, which records them again.
pub fn forget() {
    RECORDED.store(0, Relaxed);
}

/// Remembers them for the sites of allocations, as the library is loaded.
pub fn remember() {
    let mut all = All { writer: None, changes: 0, number: 0 };
    // SAFETY: the callback uses only what it is given.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut all).cast()) };
}

/// Records and remembers them, if something was loaded since the last time.
pub fn record() {
    if !thread::is_recorded() {
        return;
    }
    this().write(|writer| {
        let mut all = All { writer: Some(writer), changes: 0, number: 0 };
        // SAFETY: the callback uses only what it is given.
        unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut all).cast()) };
        RECORDED.store(all.changes, Relaxed);
    });
}

struct All<'a> {
    writer: Option<&'a mut Writer>,
    /// Loads and unloads until now.
    changes: u64,
    number: usize,
}

unsafe extern "C" fn each(info: *mut dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader's structure, and what the caller has handed over.
    let (info, all) = unsafe { (&*info, &mut *data.cast::<All<'_>>()) };
    all.changes = info.dlpi_adds + info.dlpi_subs;
    if all.writer.is_some() && RECORDED.load(Relaxed) == all.changes {
        return 1;
    }
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader's table of this length.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let range = |is_meant: fn(&libc::Elf64_Phdr) -> bool| {
        let meant = headers.iter().filter(|header| header.p_type == libc::PT_LOAD && is_meant(header));
        let ranges = meant.map(|header| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            (start, start.wrapping_add(header.p_memsz))
        });
        ranges.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
    };
    let mut room = [0; libc::PATH_MAX as usize];
    let path = path(info, &mut room);
    if let Some((start, end)) = range(|_| true) {
        let code = range(|header| header.p_flags & libc::PF_X != 0).unwrap_or_default();
        allocations::remember_module(
            all.number,
            &Told { range: (start, end), code, base: info.dlpi_addr, path },
        );
        all.number += 1;
        if let Some(writer) = &mut all.writer {
            writer.write(Record::Module { base: info.dlpi_addr, start, end });
            writer.write_text(path);
        }
    }
    0
}

/// The path of a module. The program's own is not told by the loader, and others may be relative to where it began.
fn path<'a>(info: &dl_phdr_info, room: &'a mut [u8; libc::PATH_MAX as usize]) -> &'a [u8] {
    let told: &[u8] = if info.dlpi_name.is_null() {
        b""
    } else {
        // SAFETY: the loader's string, which outlives the callback that `room` is of.
        unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes()
    };
    if told.is_empty() {
        // SAFETY: the kernel writes at most the given number of bytes.
        let length =
            unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), room.as_mut_ptr().cast(), room.len()) };
        return &room[..usize::try_from(length).unwrap_or(0)];
    }
    if !told.starts_with(b"/") {
        // SAFETY: a string that ends with a zero, and room for the longest path.
        let found = unsafe { libc::realpath(info.dlpi_name, room.as_mut_ptr().cast()) };
        if !found.is_null() {
            return CStr::from_bytes_until_nul(room).map_or(told, CStr::to_bytes);
        }
    }
    told
}
