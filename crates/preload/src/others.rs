//! The library that a function is in.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;

use libc::dl_phdr_info;

/// A loaded library. Valid as long as it is loaded.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    base: usize,
    path: *const c_char,
}

impl Library {
    /// Where it begins.
    pub fn base(&self) -> usize {
        self.base
    }

    /// The name of its file.
    pub fn file(&self) -> String {
        if self.path.is_null() {
            return String::new();
        }
        // SAFETY: the loader's string.
        let path = unsafe { CStr::from_ptr(self.path) }.to_string_lossy();
        path.rsplit('/').next().unwrap_or_default().to_owned()
    }
}

/// The library that a function with this address is in; `None` if it is in none.
pub fn library_of(function: usize) -> Option<Library> {
    // SAFETY: zeroed values are valid, and the call writes there alone.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        (libc::dladdr(function as *const c_void, &raw mut found) != 0)
            .then_some(Library { base: found.dli_fbase as usize, path: found.dli_fname })
    }
}

/// The addresses of the library that a function with this address is in; none if it is in none. This is much quicker
/// than to ask for its name.
pub fn range_of(function: usize) -> Range<usize> {
    unsafe extern "C" fn look(info: *mut dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: the loader's structure, and what the caller has handed over.
        unsafe {
            let found = &mut *data.cast::<Range<usize>>();
            let (base, headers) = ((*info).dlpi_addr as usize, (*info).dlpi_phdr);
            if headers.is_null() {
                return 0;
            }
            let loaded = std::slice::from_raw_parts(headers, usize::from((*info).dlpi_phnum)).iter();
            let all = loaded.filter(|header| header.p_type == libc::PT_LOAD).map(|header| {
                let begin = base.wrapping_add(header.p_vaddr as usize);
                begin..begin + header.p_memsz as usize
            });
            let all = all.reduce(|all, one| all.start.min(one.start)..all.end.max(one.end));
            // The caller has put the function's address there.
            let Some(all) = all.filter(|all| all.contains(&found.start)) else { return 0 };
            *found = all;
            1
        }
    }
    let mut found = function..0;
    // SAFETY: the callback uses only what it is given.
    let has_found = unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) } != 0;
    if has_found { found } else { 0..0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_in_their_libraries() {
        let own = library_of(library_of as *const () as usize).unwrap();
        let other = library_of(libc::getpid as *const () as usize).unwrap();
        assert_ne!(own.base(), other.base());
        assert!(other.file().starts_with("lib"), "{other:?}");
        assert!(library_of(8).is_none());
        let range = range_of(libc::getpid as *const () as usize);
        assert!(
            range.contains(&(libc::getpid as *const () as usize)) && range.contains(&(other.base() + 64))
        );
        assert!(!range.contains(&(range_of as *const () as usize)));
        assert!(range_of(8).is_empty());
    }
}
