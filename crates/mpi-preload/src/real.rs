//! MPI's own functions, found where they are loaded.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::abi::Handle;

/// A callback that says whether a new communicator inherits an attribute.
pub(crate) type Copy =
    unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// A callback for an attribute that goes, as its communicator does.
pub(crate) type Delete = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;

macro_rules! functions {
    ($($field:ident: $name:ident($($kind:ty),*);)+) => {
        /// MPI's functions under the names that no other library stands before.
        pub(crate) struct Real {
            $(pub(crate) $field: unsafe extern "C" fn($($kind),*) -> c_int,)+
        }

        impl Real {
            /// All of them; `None` if the library lacks one.
            pub(crate) fn find(library: &Loaded) -> Option<Self> {
                Some(Self {
                    $($field: {
                        let name = CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()).ok()?;
                        let function = library.function(name)?;
                        // SAFETY: MPI's function of this name has this type; handles fill a word or its lower half.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) -> c_int>(function) }
                    },)+
                })
            }
        }
    };
}

functions! {
    initialized: PMPI_Initialized(*mut c_int);
    finalized: PMPI_Finalized(*mut c_int);
    query_thread: PMPI_Query_thread(*mut c_int);
    version: PMPI_Get_library_version(*mut c_char, *mut c_int);
    rank: PMPI_Comm_rank(Handle, *mut c_int);
    size: PMPI_Comm_size(Handle, *mut c_int);
    test_inter: PMPI_Comm_test_inter(Handle, *mut c_int);
    group: PMPI_Comm_group(Handle, *mut Handle);
    translate: PMPI_Group_translate_ranks(Handle, c_int, *const c_int, Handle, *mut c_int);
    group_free: PMPI_Group_free(*mut Handle);
    split: PMPI_Comm_split(Handle, c_int, c_int, *mut Handle);
    free: PMPI_Comm_free(*mut Handle);
    set_errhandler: PMPI_Comm_set_errhandler(Handle, Handle);
    call_errhandler: PMPI_Comm_call_errhandler(Handle, c_int);
    bcast: PMPI_Bcast(*mut c_void, c_int, Handle, c_int, Handle);
    allreduce: PMPI_Allreduce(*const c_void, *mut c_void, c_int, Handle, Handle, Handle);
    iprobe: PMPI_Iprobe(c_int, c_int, Handle, *mut c_int, *mut c_void);
    create_keyval: PMPI_Comm_create_keyval(Copy, Delete, *mut c_int, *mut c_void);
    set_attr: PMPI_Comm_set_attr(Handle, c_int, *mut c_void);
}

/// The library that has MPI's functions.
pub(crate) struct Loaded {
    /// As the loader knows it.
    handle: *mut c_void,
}

// SAFETY: the loader's handle is good for all threads.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// A function of the library.
    pub(crate) fn function(&self, name: &CStr) -> Option<*mut c_void> {
        symbol(self.handle, name)
    }

    /// The address of one of its variables. The program may have it at another than the library.
    pub(crate) fn variable(&self, name: &CStr) -> Option<*mut c_void> {
        symbol(libc::RTLD_DEFAULT, name).or_else(|| symbol(self.handle, name))
    }
}

fn symbol(scope: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a scope of the loader's, and a string that ends with a zero. The second call takes away what the first may
    // have left to tell.
    unsafe {
        let found = libc::dlsym(scope, name.as_ptr());
        libc::dlerror();
        (!found.is_null()).then_some(found)
    }
}

/// The library of MPI that is loaded, if one is. A program may load it at any time, also where its own scope does not
/// reach.
pub(crate) fn loaded() -> Option<&'static Loaded> {
    static LOADED: OnceLock<Loaded> = OnceLock::new();
    if let Some(known) = LOADED.get() {
        return Some(known);
    }
    let found = all_loaded().into_iter().find_map(|path| {
        // SAFETY: only a library that is there already is opened once more, and stays.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        let has = !handle.is_null() && symbol(handle, c"PMPI_Barrier").is_some();
        has.then_some(Loaded { handle })
    })?;
    Some(LOADED.get_or_init(|| found))
}

/// The paths of libraries that are loaded and called MPI's.
fn all_loaded() -> Vec<CString> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, paths: *mut c_void) -> c_int {
        // SAFETY: the loader's structure, and what the caller has handed over.
        unsafe {
            let name = (*info).dlpi_name;
            if !name.is_null() {
                let path = CStr::from_ptr(name);
                let file = path.to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
                if file.starts_with(b"libmpi") {
                    (*paths.cast::<Vec<CString>>()).push(path.to_owned());
                }
            }
        }
        0
    }
    let mut paths: Vec<CString> = Vec::new();
    // SAFETY: the callback uses only what it is given.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut paths).cast()) };
    paths
}
