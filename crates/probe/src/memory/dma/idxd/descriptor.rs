//! What the engine is given and what it answers (DSA architecture specification, chapters on descriptors and completion
//! records).

use std::ptr::NonNull;

/// `DSA_OPCODE_MEMMOVE`
const MEMMOVE: u32 = 0x03;
/// `IDXD_OP_FLAG_BOF`: wait where a page is not there, instead of ending.
const BLOCK_ON_FAULT: u32 = 1 << 1;
/// `IDXD_OP_FLAG_CRAV`: the address of a completion record is valid.
const RECORD_ADDRESS_VALID: u32 = 1 << 2;
/// `IDXD_OP_FLAG_RCR`: a completion record is asked for.
const REQUEST_RECORD: u32 = 1 << 3;

/// `struct dsa_hw_desc`
#[repr(C, align(64))]
pub(super) struct Descriptor {
    /// Address space and privilege, which the hardware sets for user programs.
    process: u32,
    /// Flags, 24 bits; operation, 8 bits.
    flags_and_operation: u32,
    record: u64,
    source: u64,
    destination: u64,
    bytes: u32,
    interrupt: u16,
    reserved: u16,
    of_the_operation: [u8; 24],
}

impl Descriptor {
    /// A copy.
    pub(super) fn memmove(
        source: NonNull<u8>,
        destination: NonNull<u8>,
        bytes: u32,
        record: &CompletionRecord,
    ) -> Self {
        let address = |pointer: NonNull<u8>| pointer.as_ptr() as u64;
        Self {
            process: 0,
            flags_and_operation: MEMMOVE << 24 | BLOCK_ON_FAULT | RECORD_ADDRESS_VALID | REQUEST_RECORD,
            record: std::ptr::from_ref(record) as u64,
            source: address(source),
            destination: address(destination),
            bytes,
            interrupt: 0,
            reserved: 0,
            of_the_operation: [0; 24],
        }
    }
}

/// `struct dsa_completion_record`: written by the engine.
#[repr(C, align(32))]
#[derive(Default)]
pub(super) struct CompletionRecord([u32; 8]);

impl CompletionRecord {
    /// Not yet written.
    pub(super) const PENDING: u8 = 0;
    /// `DSA_COMP_SUCCESS`
    pub(super) const SUCCESS: u8 = 1;

    pub(super) fn clear(&mut self) {
        // SAFETY: the record is borrowed alone, and no descriptor that names it is under way.
        unsafe { std::ptr::from_mut(self).write_volatile(Self::default()) };
    }

    /// Its lowest byte.
    pub(super) fn status(&self) -> u8 {
        // SAFETY: a load from a value that is borrowed; the engine writes it by one transaction.
        unsafe { std::ptr::from_ref(&self.0[0]).read_volatile() as u8 }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn layouts_are_the_specifications() {
        assert_eq!((size_of::<Descriptor>(), align_of::<Descriptor>()), (64, 64));
        assert_eq!((size_of::<CompletionRecord>(), align_of::<CompletionRecord>()), (32, 32));
        assert_eq!(offset_of!(Descriptor, flags_and_operation), 4);
        assert_eq!(offset_of!(Descriptor, record), 8);
        assert_eq!(offset_of!(Descriptor, source), 16);
        assert_eq!(offset_of!(Descriptor, destination), 24);
        assert_eq!(offset_of!(Descriptor, bytes), 32);
        assert_eq!(offset_of!(Descriptor, interrupt), 36);
        assert_eq!(offset_of!(Descriptor, of_the_operation), 40);
    }

    #[test]
    fn a_copy_names_its_ends_and_asks_for_a_record() {
        let (mut from, mut to) = ([0u8; 64], [0u8; 64]);
        let mut record = CompletionRecord([0xdead_be01; 8]);
        assert_eq!(record.status(), CompletionRecord::SUCCESS);
        record.clear();
        assert_eq!(record.status(), CompletionRecord::PENDING);
        let descriptor =
            Descriptor::memmove(NonNull::from(&mut from).cast(), NonNull::from(&mut to).cast(), 64, &record);
        assert_eq!(descriptor.flags_and_operation, 0x0300_000e);
        assert_eq!(descriptor.source, from.as_ptr() as u64);
        assert_eq!(descriptor.destination, to.as_ptr() as u64);
        assert_eq!((descriptor.bytes, descriptor.process), (64, 0));
        assert_eq!(descriptor.record, &raw const record as u64);
    }
}
