//! Reductions in which tasks take part: each thread that executes one has a copy of the result, and the end of the group
//! adds them up.

use std::alloc::{self, Layout};
use std::ptr;
use std::sync::Arc;

use libc::c_void;

use crate::sync::Ordering::{AcqRel, Acquire, Release};
use crate::sync::{AtomicPtr, AtomicUsize};

/// How copies of a result begin: from the result before, or from nothing; null for zeros.
pub type Begin = Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>;
/// How a copy is added to another.
pub type Combine = unsafe extern "C" fn(*mut c_void, *mut c_void);
/// How a copy ends.
pub type End = Option<unsafe extern "C" fn(*mut c_void)>;

/// A result.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    pub shared: *mut c_void,
    /// The result before.
    pub original: *mut c_void,
    pub bytes: usize,
    pub begin: Begin,
    pub end: End,
    pub combine: Combine,
}

/// The members' copies, by item and then by rank; null until the member asks for its own.
#[derive(Debug)]
pub struct Copies {
    size: usize,
    copies: Box<[AtomicPtr<c_void>]>,
    /// How many groups that use them have ended.
    ended: AtomicUsize,
}

/// What a group's tasks reduce.
#[derive(Debug)]
pub struct Reduction {
    items: Box<[Item]>,
    copies: Arc<Copies>,
    /// How many groups use the copies.
    groups: usize,
}

/// Memory of whole cache lines.
fn layout(bytes: usize) -> Layout {
    let layout = Layout::from_size_align(bytes.max(1), 64).map(|layout| layout.pad_to_align());
    layout.expect("variables fit into memory")
}

impl Copies {
    pub fn new(items: usize, size: usize) -> Self {
        let copies = std::iter::repeat_with(|| AtomicPtr::new(ptr::null_mut())).take(items * size).collect();
        Self { size, copies, ended: AtomicUsize::new(0) }
    }

    /// Of how many members.
    pub fn size(&self) -> usize {
        self.size
    }
}

impl Reduction {
    /// Of one group, in a team of this size.
    pub fn new(items: Box<[Item]>, size: usize) -> Self {
        let copies = Arc::new(Copies::new(items.len(), size));
        Self { items, copies, groups: 1 }
    }

    /// Of so many groups that have their copies in common, one of each member.
    pub fn shared(items: Box<[Item]>, copies: Arc<Copies>, groups: usize) -> Self {
        Self { items, copies, groups }
    }

    /// A member's copy of the item at this address, or of which this is another member's copy.
    pub fn copy(&self, data: *mut c_void, rank: usize) -> Option<*mut c_void> {
        let size = self.copies.size;
        let is_it = |at: usize| {
            let holds = |copy: *mut c_void| {
                !copy.is_null()
                    && (copy.addr()..copy.addr() + self.items[at].bytes.max(1)).contains(&data.addr())
            };
            self.items[at].shared == data
                || self.copies.copies[at * size..][..size].iter().any(|copy| holds(copy.load(Acquire)))
        };
        let at = (0..self.items.len()).find(|&at| is_it(at))?;
        let (item, place) = (&self.items[at], &self.copies.copies[at * size + rank]);
        let copy = place.load(Acquire);
        if !copy.is_null() {
            return Some(copy);
        }
        let layout = layout(item.bytes);
        // SAFETY: the layout has a size; the function is the compiler's, for such memory.
        let copy = unsafe {
            let copy = alloc::alloc_zeroed(layout).cast::<c_void>();
            if copy.is_null() {
                alloc::handle_alloc_error(layout);
            }
            if let Some(begin) = item.begin {
                begin(copy, item.original);
            }
            copy
        };
        place.store(copy, Release);
        Some(copy)
    }

    /// Adds up the copies when the last group has ended.
    pub fn end(&self) {
        if self.copies.ended.fetch_add(1, AcqRel) + 1 < self.groups {
            return;
        }
        for (item, copies) in self.items.iter().zip(self.copies.copies.chunks(self.copies.size)) {
            for copy in copies {
                let copy = copy.swap(ptr::null_mut(), Acquire);
                if copy.is_null() {
                    continue;
                }
                // SAFETY: no task uses it any more; the functions are the compiler's, for such memory.
                unsafe {
                    (item.combine)(item.shared, copy);
                    if let Some(end) = item.end {
                        end(copy);
                    }
                    alloc::dealloc(copy.cast(), layout(item.bytes));
                }
            }
        }
    }
}
