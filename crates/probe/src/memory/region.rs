//! Memory of one type, from any provider: the same loops run over all of it.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;

use coho_platform::pages::{PAGE, Pages, Paging};
use coho_profile::CacheType;

use crate::Error;

/// Memory of one type. Dropping it gives it back.
///
/// ```
/// use coho_probe::memory::Region;
/// let region = Region::write_back(64 << 10)?;
/// region.touch();
/// assert!(region.bytes() >= 64 << 10 && region.cache_type().name() == "WB");
/// # Ok::<(), coho_probe::Error>(())
/// ```
pub struct Region {
    start: NonNull<u8>,
    bytes: usize,
    cache_type: CacheType,
    page_bytes: Option<u64>,
    node: Option<u32>,
    /// What dropping it gives back.
    _owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: the memory belongs to this value; the owner may go to other threads.
unsafe impl Send for Region {}
// SAFETY: shared access is by raw pointer only.
unsafe impl Sync for Region {}

impl Region {
    /// Memory that `owner` gives back when it is dropped.
    ///
    /// # Safety
    /// From `start` on `bytes` bytes may be read and written from any thread, at any width, until `owner` is dropped,
    /// and nothing else uses them. `start` is aligned to 64 bytes.
    ///
    /// # Panics
    /// If `start` is not aligned to 64 bytes.
    pub unsafe fn from_raw(
        start: NonNull<u8>,
        bytes: usize,
        cache_type: CacheType,
        owner: impl Any + Send + Sync,
    ) -> Self {
        assert_eq!(start.as_ptr().align_offset(64), 0, "a region begins with a line");
        Self { start, bytes, cache_type, page_bytes: None, node: None, _owner: Box::new(owner) }
    }

    /// The same, recorded as being on pages of this size.
    #[must_use]
    pub fn on_pages_of(self, bytes: u64) -> Self {
        Self { page_bytes: Some(bytes), ..self }
    }

    /// The same, recorded as being on this NUMA node.
    #[must_use]
    pub fn on_node(self, node: u32) -> Self {
        Self { node: Some(node), ..self }
    }

    /// At least `bytes` of ordinary memory, untouched; from 2 MiB on, huge pages are asked for.
    ///
    /// # Errors
    /// If there is no room.
    pub fn write_back(bytes: usize) -> Result<Self, Error> {
        let pages = Pages::map(bytes)?;
        let (start, bytes) = (pages.start(), pages.bytes());
        // SAFETY: the pages are zeroed memory that only `pages` refers to, aligned to a page.
        Ok(unsafe { Self::from_raw(start, bytes, CacheType::WriteBack, pages) })
    }

    /// At least `bytes` of ordinary memory on pages of this kind, touched by the calling thread; on this NUMA node if
    /// one is named. The region knows which pages and node it got.
    ///
    /// # Errors
    /// If there is no room, or the operating system refuses the pages or the node.
    pub fn write_back_on(bytes: usize, paging: Paging, node: Option<u32>) -> Result<Self, Error> {
        let pages = Pages::map_at(bytes, paging, node)?;
        pages.touch();
        let (start, bytes, page_bytes, node) =
            (pages.start(), pages.bytes(), pages.page_bytes(), pages.node());
        // SAFETY: as in `write_back`.
        let region = unsafe { Self::from_raw(start, bytes, CacheType::WriteBack, pages) };
        Ok(Self { page_bytes, node, ..region })
    }

    /// Address of the first byte, aligned to a line.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its type.
    pub fn cache_type(&self) -> CacheType {
        self.cache_type
    }

    /// Size of its pages, in bytes; `None` if that is not known.
    pub fn page_bytes(&self) -> Option<u64> {
        self.page_bytes
    }

    /// Its memory node; `None` if that is not known.
    pub fn node(&self) -> Option<u32> {
        self.node
    }

    /// Writes to every page, on the calling thread, so that each exists: a page that was never written is the kernel's
    /// one page of zeros, which stays in the caches.
    pub fn touch(&self) {
        for offset in (0..self.bytes).step_by(PAGE) {
            // SAFETY: within the region, which nothing else uses.
            unsafe { self.start.add(offset).write_volatile(0) };
        }
    }

    /// Loads each line of a part.
    pub(super) fn load(&self, offset: usize, bytes: usize) {
        assert!(offset + bytes <= self.bytes, "the part exceeds the region");
        for at in (offset..offset + bytes).step_by(64) {
            // SAFETY: a byte within the region.
            unsafe { self.start.add(at).read_volatile() };
        }
    }

    /// Modifies each line of a part, by plain stores.
    pub(super) fn dirty(&self, offset: usize, bytes: usize) {
        assert!(offset + bytes <= self.bytes, "the part exceeds the region");
        for at in (offset.next_multiple_of(8)..offset + bytes).step_by(8) {
            if at + 8 <= offset + bytes {
                // SAFETY: eight bytes within the region, aligned to eight, which nothing else uses meanwhile.
                unsafe { self.start.add(at).cast::<u64>().write_volatile(0x5A5A_5A5A_5A5A_5A5A) };
            }
        }
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Region({} bytes of {} at {:?})", self.bytes, self.cache_type, self.start)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn gives_its_memory_back_once() {
        let memory = Arc::new([0u128; 8]);
        let start = memory.as_ptr().cast_mut().cast::<u8>();
        let offset = start.align_offset(64);
        let start = NonNull::new(start.wrapping_add(offset)).unwrap();
        // SAFETY: 64 of the 128 bytes, from an aligned one on; nothing touches them.
        let region =
            unsafe { Region::from_raw(start, 64, CacheType::WriteCombining, memory.clone()) }.on_node(1);
        assert_eq!(Arc::strong_count(&memory), 2);
        assert_eq!((region.bytes(), region.node(), region.page_bytes()), (64, Some(1), None));
        drop(region);
        assert_eq!(Arc::strong_count(&memory), 1);
    }
}
