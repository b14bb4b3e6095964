//! Lines written back and removed from the caches by hand.

/// A function that executes an instruction on each line of some bytes.
macro_rules! each_line {
    ($(#[$doc:meta])* $name:ident: $instruction:literal) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// The bytes are mapped, and the CPU has the instruction.
        unsafe fn $name(start: std::ptr::NonNull<u8>, bytes: usize) {
            for offset in (0..bytes).step_by($crate::memory::lines::LINE) {
                // SAFETY: within the bytes that the caller promises; no contents change.
                unsafe {
                    std::arch::asm!(
                        $instruction,
                        in(reg) start.as_ptr().add(offset),
                        options(nostack, preserves_flags)
                    )
                };
            }
        }
    };
}

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;

use std::ptr::NonNull;

use super::Region;
/// Waits until all operations on lines, and all earlier loads and stores, are done.
pub(super) use crate::flush::fence as wait;

/// Bytes of a line.
pub(super) const LINE: usize = 64;

/// An instruction that acts on one line.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineOperation {
    /// As the manuals have it: `CLFLUSH`.
    pub(super) name: &'static str,
    present: fn() -> bool,
    /// Acts on each line of this many bytes, without waiting for it.
    act: unsafe fn(NonNull<u8>, usize),
}

impl LineOperation {
    /// All of this architecture.
    pub(super) fn all() -> &'static [Self] {
        arch::OPERATIONS
    }

    /// Why this CPU cannot; `None` if it can.
    pub(super) fn missing(&self) -> Option<String> {
        (!(self.present)()).then(|| format!("this CPU has no {}", self.name))
    }

    /// Acts on each line of a part of a region, without waiting for it.
    ///
    /// # Panics
    /// If the part exceeds the region, or the CPU cannot.
    #[inline]
    pub(super) fn act(&self, region: &Region, offset: usize, bytes: usize) {
        assert!(
            offset + bytes <= region.bytes() && (self.present)(),
            "within the region, by what the CPU has"
        );
        // SAFETY: the lines are the region's, and the CPU has the instruction.
        unsafe { (self.act)(region.start().add(offset), bytes) };
    }
}

/// Removes each line of a part of a region from every cache, once it has been [waited](wait) for.
pub(super) fn flush(region: &Region, offset: usize, bytes: usize) {
    let quickest = LineOperation::all().iter().rfind(|one| one.missing().is_none() && removes(one));
    quickest.expect("every CPU can").act(region, offset, bytes);
}

/// Whether it leaves no copy behind.
fn removes(operation: &LineOperation) -> bool {
    !matches!(operation.name, "CLWB" | "DC CVAC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operation_changes_what_lines_hold() {
        let region = Region::write_back(8192).unwrap();
        region.dirty(0, 8192);
        for operation in LineOperation::all().iter().filter(|one| one.missing().is_none()) {
            operation.act(&region, 64, 4096);
            wait();
            // SAFETY: the test's own region.
            let bytes = unsafe { std::slice::from_raw_parts(region.start().as_ptr(), 8192) };
            assert!(bytes.iter().all(|&byte| byte == bytes[0]), "{}", operation.name);
        }
        flush(&region, 0, 8192);
    }
}
