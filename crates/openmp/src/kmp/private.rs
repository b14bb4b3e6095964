//! Variables of which each thread has its own copy, where the compiler does not use the loader's thread-local storage.

use std::alloc::{self, Layout};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use libc::{c_int, c_void};

use super::number;

type Construct = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Copy = unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void;
type Destroy = unsafe extern "C" fn(*mut c_void);

/// How copies of a variable begin and end.
#[derive(Debug, Clone, Default)]
struct Variable {
    construct: Option<Construct>,
    copy: Option<Copy>,
    destroy: Option<Destroy>,
    /// What copies begin with, unless they are constructed: its value when a thread first asked for it.
    initial: Option<Box<[u8]>>,
}

/// The variables that threads have asked for, or that the program has described, by their addresses.
static VARIABLES: Mutex<BTreeMap<usize, Variable>> = Mutex::new(BTreeMap::new());

/// A thread's copy of a variable.
struct Own {
    memory: *mut c_void,
    layout: Layout,
    destroy: Option<Destroy>,
}

impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: the thread ends; the memory has that layout.
        unsafe {
            if let Some(destroy) = self.destroy {
                destroy(self.memory);
            }
            alloc::dealloc(self.memory.cast(), self.layout);
        }
    }
}

thread_local! {
    static COPIES: RefCell<BTreeMap<usize, Own>> = const { RefCell::new(BTreeMap::new()) };
}

/// Describes a variable of a class with constructors.
pub extern "C" fn threadprivate_register(
    _place: *const c_void,
    data: *mut c_void,
    construct: Option<Construct>,
    copy: Option<Copy>,
    destroy: Option<Destroy>,
) {
    let mut variables = VARIABLES.lock().unwrap_or_else(PoisonError::into_inner);
    variables.entry(data.addr()).or_insert(Variable { construct, copy, destroy, initial: None });
}

/// The calling thread's copy. The compiler's cache stays as it is: each thread remembers its copies.
pub unsafe extern "C" fn threadprivate_cached(
    _place: *const c_void,
    _number: c_int,
    data: *mut c_void,
    bytes: usize,
) -> *mut c_void {
    if let Some(memory) = COPIES.with_borrow(|copies| copies.get(&data.addr()).map(|own| own.memory)) {
        return memory;
    }
    // SAFETY: the compiler's.
    unsafe { first_look(data, bytes) }
}

/// # Safety
/// A variable of this size.
#[cold]
unsafe fn first_look(data: *mut c_void, bytes: usize) -> *mut c_void {
    let variable = {
        let mut variables = VARIABLES.lock().unwrap_or_else(PoisonError::into_inner);
        let variable = variables.entry(data.addr()).or_default();
        if variable.construct.is_none() && variable.copy.is_none() && variable.initial.is_none() {
            // SAFETY: as the caller promises.
            variable.initial = Some(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) }.into());
        }
        variable.clone()
    };
    // The initial thread has the variable itself.
    if number() == 0 {
        return data;
    }
    let layout = Layout::from_size_align(bytes.max(1), 64).expect("variables fit into memory");
    // SAFETY: the layout has a size; the functions are the program's, for such memory.
    let memory = unsafe {
        let memory = alloc::alloc_zeroed(layout).cast::<c_void>();
        if memory.is_null() {
            alloc::handle_alloc_error(layout);
        }
        match (variable.construct, variable.copy, &variable.initial) {
            (Some(construct), ..) => {
                construct(memory);
            }
            (None, Some(copy), _) => {
                copy(memory, data);
            }
            (None, None, Some(initial)) => {
                ptr::copy_nonoverlapping(initial.as_ptr(), memory.cast(), initial.len().min(bytes));
            }
            (None, None, None) => {}
        }
        memory
    };
    let own = Own { memory, layout, destroy: variable.destroy };
    COPIES.with_borrow_mut(|copies| copies.insert(data.addr(), own));
    memory
}
