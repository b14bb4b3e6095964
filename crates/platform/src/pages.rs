//! Memory whose place is known: pages owned by a value, on a chosen NUMA node or placed by first touch.

use std::fmt;
use std::io;
use std::ptr::NonNull;

use crate::share::{NoShare, Share};

/// Size of a small page, in bytes; also where the system's pages are larger.
pub const PAGE: usize = 4096;
const HUGE: usize = 2 << 20;

/// The kind of pages to map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Paging {
    /// Small ones.
    Small,
    /// Huge ones if there are any, from 2 MiB on (`madvise`).
    #[default]
    Huge,
    /// Huge ones that the administrator has set aside (hugetlbfs).
    Reserved,
}

/// Why pages cannot be mapped.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// More than can be addressed.
    TooLarge {
        /// The size asked for.
        bytes: usize,
    },
    /// More than this process may still use.
    NoRoom(NoShare),
    /// The system refuses the mapping.
    Map {
        /// The size asked for.
        bytes: usize,
        /// What kind of pages.
        paging: Paging,
        /// The system's own reason.
        error: io::Error,
    },
    /// The system refuses to place memory on a node.
    Node {
        /// The node.
        node: u32,
        /// The system's own reason.
        error: io::Error,
        /// The nodes that have memory, if naming another node was the mistake.
        known: Option<String>,
    },
    /// A node has too few reserved huge pages that are free.
    Reserved {
        /// The node.
        node: u32,
        /// The system's own reason.
        error: io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes } => write!(f, "no room for {bytes} bytes"),
            Self::NoRoom(why) => why.fmt(f),
            Self::Map { bytes, paging, error } => {
                let kind = match paging {
                    Paging::Reserved => " of reserved huge pages (vm.nr_hugepages)",
                    Paging::Small | Paging::Huge => "",
                };
                write!(f, "no room for {bytes} bytes{kind}: {error}")
            }
            Self::Node { node, error, known } => {
                write!(f, "cannot place memory on node {node} (mbind): {error}")?;
                known.iter().try_for_each(|known| write!(f, "; the nodes with memory are: {known}"))
            }
            Self::Reserved { node, error } => {
                write!(f, "node {node} has too few reserved huge pages free: {error}")
            }
        }
    }
}

impl std::error::Error for Error {}

/// Zeroed pages that nothing else uses; untouched, so that the first toucher's node becomes their home.
#[derive(Debug)]
pub struct Pages {
    start: NonNull<u8>,
    bytes: usize,
    mapping: NonNull<u8>,
    mapped: usize,
    /// Their share of the memory that this process may use.
    _share: Option<Share>,
}

// SAFETY: the pages are plain memory that this value owns.
unsafe impl Send for Pages {}
// SAFETY: shared access is by raw pointer or by atomics only.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps at least `bytes`; from 2 MiB on, huge pages are asked for.
    ///
    /// # Errors
    /// If there is no room.
    pub fn map(bytes: usize) -> Result<Self, Error> {
        Self::map_on(bytes, Paging::Huge)
    }

    /// Maps at least `bytes` on pages of this kind.
    ///
    /// # Errors
    /// If there is no room, or no reserved huge page is left.
    pub fn map_on(bytes: usize, paging: Paging) -> Result<Self, Error> {
        let huge = paging == Paging::Reserved || (bytes >= HUGE && paging == Paging::Huge);
        let align = if huge { HUGE } else { PAGE };
        let too_large = || Error::TooLarge { bytes };
        let bytes = bytes.max(1).checked_next_multiple_of(align).ok_or_else(too_large)?;
        let share = match paging {
            Paging::Reserved => None,
            _ => Some(Share::take(bytes as u64).map_err(Error::NoRoom)?),
        };
        let mapped = bytes.checked_add(if huge { HUGE } else { 0 }).ok_or_else(too_large)?;
        let reserved = if paging == Paging::Reserved {
            libc::MAP_HUGETLB | libc::MAP_HUGE_2MB
        } else {
            libc::MAP_NORESERVE
        };
        // SAFETY: a new private mapping, at an address that the kernel chooses.
        let mapping = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | reserved,
                -1,
                0,
            )
        };
        if mapping == libc::MAP_FAILED {
            return Err(Error::Map { bytes: mapped, paging, error: io::Error::last_os_error() });
        }
        let mapping = NonNull::new(mapping.cast::<u8>()).expect("mmap does not map page 0 unasked");
        let offset = if huge { mapping.as_ptr().align_offset(HUGE) } else { 0 };
        // SAFETY: `offset` is below HUGE, which was added to the size.
        let start = unsafe { mapping.add(offset) };
        let advice = match paging {
            Paging::Huge if huge => Some(libc::MADV_HUGEPAGE),
            Paging::Small => Some(libc::MADV_NOHUGEPAGE),
            _ => None,
        };
        if let Some(advice) = advice {
            // SAFETY: the range lies within the mapping; the advice changes no contents, and the kernel may ignore it.
            unsafe { libc::madvise(start.as_ptr().cast(), bytes, advice) };
        }
        Ok(Self { start, bytes, mapping, mapped, _share: share })
    }

    /// Maps at least `bytes` on pages of this kind, on this memory node if one is named.
    ///
    /// # Errors
    /// As [`Self::map_on`] and [`Self::bind`].
    pub fn map_at(bytes: usize, paging: Paging, node: Option<u32>) -> Result<Self, Error> {
        let pages = Self::map_on(bytes, paging)?;
        if let Some(node) = node {
            pages.bind(node)?;
            if paging == Paging::Reserved {
                pages.populate(node)?;
            }
        }
        Ok(pages)
    }

    /// Size of the pages that the kernel provided, known once they are touched: the size that holds for most of the
    /// bytes. `None` if the kernel does not say.
    pub fn page_bytes(&self) -> Option<u64> {
        let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        page_bytes(&smaps, self.start.as_ptr() as u64, self.bytes as u64)
    }

    /// Address of the first byte, aligned to a page.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Binds the pages to this NUMA node; they are placed there once they are touched.
    ///
    /// # Errors
    /// If the operating system refuses: no such node, no rights in this container.
    pub fn bind(&self, node: u32) -> Result<(), Error> {
        const MPOL_BIND: libc::c_int = 2;
        let mut mask = vec![0u64; node as usize / 64 + 1];
        mask[node as usize / 64] = 1 << (node % 64);
        // SAFETY: the mask has as many bits as the call says; the kernel expects one more than it reads.
        let result = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.start.as_ptr(),
                self.bytes,
                MPOL_BIND,
                mask.as_ptr(),
                mask.len() * 64 + 1,
                0,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            let error = io::Error::last_os_error();
            // What EINVAL means here; a container that forbids the call says EPERM.
            let known = (error.raw_os_error() == Some(libc::EINVAL)).then(nodes_with_memory).flatten();
            Err(Error::Node { node, error, known })
        }
    }

    /// Makes the kernel provide all pages now. Huge pages are reserved for all nodes together, so this node may have
    /// too few; otherwise the process would learn that by SIGBUS.
    fn populate(&self, node: u32) -> Result<(), Error> {
        // SAFETY: the range is the mapping's own; its contents stay.
        let result =
            unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes, libc::MADV_POPULATE_WRITE) };
        let error = io::Error::last_os_error();
        // Kernels before 5.14 do not know the advice.
        if result == 0 || error.raw_os_error() == Some(libc::EINVAL) {
            return Ok(());
        }
        Err(Error::Reserved { node, error })
    }

    /// Touches every page, on the calling thread.
    pub fn touch(&self) {
        for offset in (0..self.bytes).step_by(PAGE) {
            // SAFETY: within the mapping; nothing else uses the pages yet.
            unsafe { self.start.add(offset).write_volatile(0) };
        }
    }

    /// The node on which the first page lives; `None` before it is touched, or if the kernel does not say.
    pub fn node(&self) -> Option<u32> {
        let page = self.start.as_ptr();
        let mut status: libc::c_int = -1;
        // SAFETY: one page, one status; without target nodes the call only asks.
        let result = unsafe {
            libc::syscall(libc::SYS_move_pages, 0, 1usize, &raw const page, 0usize, &raw mut status, 0)
        };
        if result == 0 { u32::try_from(status).ok() } else { None }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own and nothing refers to it any more.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

/// The memory nodes that have memory, as the kernel lists them: `0-1,4`.
fn nodes_with_memory() -> Option<String> {
    let list = std::fs::read_to_string("/sys/devices/system/node/has_memory").ok()?;
    Some(list.trim().to_owned()).filter(|list| !list.is_empty())
}

/// The page size of most of a range, from `/proc/PID/smaps`.
fn page_bytes(smaps: &str, start: u64, bytes: u64) -> Option<u64> {
    let (mut inside, mut page, mut huge) = (false, None, 0);
    for line in smaps.lines() {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        let mut kib = || words.next()?.parse::<u64>().ok().map(|kib| kib << 10);
        if let Some((low, high)) = first.split_once('-') {
            let number = |hex| u64::from_str_radix(hex, 16).ok();
            inside = number(low)? < start + bytes && number(high)? > start;
        } else if inside && first == "KernelPageSize:" {
            page = page.max(kib());
        } else if inside && first == "AnonHugePages:" {
            huge += kib()?;
        }
    }
    page.map(|page| if huge > bytes / 2 { HUGE as u64 } else { page })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_aligned_and_writable() {
        for bytes in [1, PAGE, 3 * PAGE, HUGE, 5 * HUGE + 1] {
            let pages = Pages::map(bytes).unwrap();
            assert!(pages.bytes() >= bytes);
            assert_eq!(pages.start().as_ptr().align_offset(if bytes >= HUGE { HUGE } else { PAGE }), 0);
            pages.touch();
        }
    }

    #[test]
    fn binds_where_there_is_a_node_and_says_no_where_there_is_none() {
        let pages = Pages::map(PAGE).unwrap();
        let error = pages.bind(1000).unwrap_err().to_string();
        if error.contains("Invalid argument")
            && let Some(known) = nodes_with_memory()
        {
            assert!(error.contains("node 1000") && error.ends_with(&known), "{error}");
        }
        // A container may forbid it; where it is allowed, the page must be there.
        if pages.bind(0).is_ok() {
            pages.touch();
            assert!(pages.node().is_none_or(|node| node == 0));
        }
    }

    #[test]
    fn tells_the_pages_that_it_got() {
        let small = Pages::map_on(4 * HUGE, Paging::Small).unwrap();
        small.touch();
        let kernel = small.page_bytes();
        assert!(kernel.is_none_or(|bytes| bytes < HUGE as u64), "{kernel:?}");
        let huge = Pages::map_on(HUGE, Paging::Huge).unwrap();
        huge.touch();
        assert!(huge.page_bytes().is_none_or(|bytes| bytes.is_power_of_two()));
        // There are rarely any; if there are, they must be of the kind that was asked for.
        if let Ok(reserved) = Pages::map_on(PAGE, Paging::Reserved) {
            reserved.touch();
            assert_eq!(reserved.page_bytes(), Some(HUGE as u64));
        }
        assert!(Pages::map_on(usize::MAX, Paging::Huge).is_err());
    }

    #[test]
    fn reads_the_kernels_list_of_mappings() {
        let list = "10000-12000 rw-p 0 00:00 0 \nSize: 8 kB\nKernelPageSize:        4 kB\nAnonHugePages:     0 kB\n\
            400000-c00000 rw-p 0 00:00 0\nKernelPageSize:        4 kB\nAnonHugePages:    6144 kB\n";
        assert_eq!(page_bytes(list, 0x10000, 0x2000), Some(4096));
        assert_eq!(page_bytes(list, 0x40_0000, 8 << 20), Some(2 << 20));
        assert_eq!(page_bytes(list, 0x2000_0000, 4096), None);
    }
}
