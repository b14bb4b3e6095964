//! The program and its libraries, as far as they are loaded.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use coho_recording::{Record, Writer};
use libc::dl_phdr_info;

use super::thread::this;

/// Loads and unloads until they were recorded last.
static RECORDED: AtomicU64 = AtomicU64::new(0);

/// In a forked process, which records them again.
pub fn forget() {
    RECORDED.store(0, Relaxed);
}

/// Records them, if something was loaded since the last time.
pub fn record() {
    this().write(|writer| {
        let mut all = All { writer, changes: None };
        // SAFETY: the callback uses only what it is given.
        unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut all).cast()) };
        if let Some(changes) = all.changes {
            RECORDED.store(changes, Relaxed);
        }
    });
}

struct All<'a> {
    writer: &'a mut Writer,
    changes: Option<u64>,
}

unsafe extern "C" fn each(info: *mut dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader's structure, and what `record` has handed over.
    let (info, all) = unsafe { (&*info, &mut *data.cast::<All<'_>>()) };
    let changes = info.dlpi_adds + info.dlpi_subs;
    if RECORDED.load(Relaxed) == changes {
        return 1;
    }
    all.changes = Some(changes);
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader's table of this length.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let range = loaded.map(|header| {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
        (start, start.wrapping_add(header.p_memsz))
    });
    if let Some((start, end)) = range.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1))) {
        all.writer.write(Record::Module { base: info.dlpi_addr, start, end });
        write_path(info, all.writer);
    }
    0
}

/// The program's own name is not told by the loader, and others may be relative to where the program began.
fn write_path(info: &dl_phdr_info, writer: &mut Writer) {
    let mut path = [0u8; libc::PATH_MAX as usize];
    let told: &[u8] = if info.dlpi_name.is_null() {
        b""
    } else {
        // SAFETY: the loader's string.
        unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes()
    };
    if told.is_empty() {
        // SAFETY: the kernel writes at most the given number of bytes.
        let length =
            unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
        writer.write_text(&path[..usize::try_from(length).unwrap_or(0)]);
        return;
    }
    if !told.starts_with(b"/") {
        // SAFETY: a string that ends with a zero, and room for the longest path.
        let found = unsafe { libc::realpath(info.dlpi_name, path.as_mut_ptr().cast()) };
        if let (false, Ok(absolute)) = (found.is_null(), CStr::from_bytes_until_nul(&path)) {
            writer.write_text(absolute.to_bytes());
            return;
        }
    }
    writer.write_text(told);
}
