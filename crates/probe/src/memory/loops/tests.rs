//! Every loop moves exactly what it says, whatever the size.

use coho_platform::pages::PAGE;
use coho_profile::Operation;

use super::*;

/// Sizes about the ends of steps, and odd ones.
const SIZES: [usize; 20] =
    [0, 1, 3, 7, 8, 31, 63, 64, 65, 127, 128, 255, 256, 257, 511, 512, 513, 1000, 4096, 8 * 512 + 77];

/// Bytes that differ from their neighbours near and far.
fn pattern(at: usize) -> u8 {
    (at.wrapping_mul(0x9E37_79B9) >> 13) as u8
}

fn slice(region: &mut Region) -> &mut [u8] {
    // SAFETY: the region is borrowed for as long as the slice.
    unsafe { std::slice::from_raw_parts_mut(region.start().as_ptr(), region.bytes()) }
}

fn available() -> impl Iterator<Item = &'static Loop> {
    Loop::all().iter().filter(|one| one.missing().is_none())
}

#[test]
fn moves_every_byte_and_no_other() {
    let (mut to, mut from) = (Region::write_back(3 * PAGE).unwrap(), Region::write_back(3 * PAGE).unwrap());
    slice(&mut from).iter_mut().enumerate().for_each(|(at, byte)| *byte = pattern(at));
    for one in available() {
        for bytes in SIZES {
            slice(&mut to).fill(0xEE);
            one.run(&to, &from, bytes, 0x5A);
            let expected = |at: usize| match one.op() {
                _ if at >= bytes => 0xEE,
                Operation::Write => 0x5A,
                Operation::Read => 0xEE,
                Operation::Copy => pattern(at),
            };
            let wrong = slice(&mut to).iter().enumerate().position(|(at, &byte)| byte != expected(at));
            let name = format!("{} {}", one.op(), one.instruction());
            assert_eq!(wrong, None, "{name} of {bytes} bytes differs there");
            assert!(slice(&mut from).iter().enumerate().all(|(at, &byte)| byte == pattern(at)), "{name}");
        }
    }
}

/// Pages that end where no page is.
struct Edge(*mut u8);

impl Edge {
    const BYTES: usize = 2 * PAGE;

    fn map() -> Self {
        // SAFETY: a new mapping, whose last page is then forbidden.
        let start = unsafe {
            let (read_write, private) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let start = libc::mmap(std::ptr::null_mut(), Self::BYTES + PAGE, read_write, private, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            let start = start.cast::<u8>();
            assert_eq!(libc::mprotect(start.add(Self::BYTES).cast(), PAGE, libc::PROT_NONE), 0);
            start
        };
        Self(start)
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        unsafe { libc::munmap(self.0.cast(), Self::BYTES + PAGE) };
    }
}

#[test]
fn touches_nothing_behind_the_block() {
    let (to, from) = (Edge::map(), Edge::map());
    for one in available() {
        let code = one.code().unwrap();
        // Whole lines, as vectors that are stored past the caches must be aligned; an access behind them ends the test.
        for bytes in (64..=Edge::BYTES).step_by(64) {
            let offset = Edge::BYTES - bytes;
            // SAFETY: so many bytes lie before the forbidden page.
            unsafe { code(to.0.add(offset), from.0.add(offset), bytes, 0) };
        }
    }
}

#[test]
fn each_has_a_name_of_its_own() {
    let mut names: Vec<_> = Loop::all().iter().map(|one| (one.op(), one.instruction())).collect();
    for &(op, instruction) in &names {
        let found = Loop::find(op, instruction).unwrap();
        assert_eq!((found.op(), found.instruction()), (op, instruction));
    }
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(Loop::find(Operation::Read, "rep-stosb").is_none());
}
