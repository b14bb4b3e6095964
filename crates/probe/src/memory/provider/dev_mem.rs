//! Physical addresses through /dev/mem, uncached: reserved memory, which nothing else uses.

use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use coho_profile::CacheType;

use super::super::Region;
use super::super::device::Device;
use super::{Places, Provider, borrowed, pat};
use crate::Error;

const PAGE: u64 = 4096;

/// Physical addresses. The user must name them, since they are written.
///
/// ```
/// use coho_probe::memory::provider::Physical;
/// assert_eq!("0xfd000000+0x10000".parse::<Physical>()?.to_string(), "0xfd000000+0x10000");
/// # Ok::<(), coho_probe::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Physical(Range<u64>);

impl FromStr for Physical {
    type Err = Error;

    /// `START+BYTES`, either in hexadecimal with `0x` or in decimal; whole pages.
    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| Error::Argument(format!("'{text}' {why}"));
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let (start, bytes) = text
            .split_once('+')
            .and_then(|(start, bytes)| Some((number(start)?, number(bytes)?)))
            .ok_or_else(|| wrong("is not START+BYTES, as 0xfd000000+0x10000"))?;
        let end = start.checked_add(bytes).ok_or_else(|| wrong("ends beyond all addresses"))?;
        if bytes == 0 || start % PAGE != 0 || bytes % PAGE != 0 {
            return Err(wrong(&format!("is not whole pages of {PAGE} bytes")));
        }
        Ok(Self(start..end))
    }
}

impl fmt::Display for Physical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}+{:#x}", self.0.start, self.0.end - self.0.start)
    }
}

pub(super) struct DevMem {
    /// `None` if none were named.
    pub(super) addresses: Option<Physical>,
}

impl Provider for DevMem {
    fn name(&self) -> String {
        match &self.addresses {
            Some(addresses) => format!("/dev/mem {addresses}"),
            None => "/dev/mem".into(),
        }
    }

    fn types(&self) -> &'static [CacheType] {
        &[CacheType::Uncached]
    }

    fn give(&self, places: &Places, cache_type: CacheType, bytes: usize) -> Result<Region, String> {
        let Some(Physical(addresses)) = &self.addresses else {
            return Err("used only if addresses are named: they are written to".into());
        };
        let file = places.dev.join("mem");
        if !file.exists() {
            return Err(format!("{} is not there", file.display()));
        }
        refuse_used(&places.proc.join("iomem"), addresses)?;
        let bytes = (bytes as u64).next_multiple_of(PAGE).min(addresses.end - addresses.start);
        let bytes = usize::try_from(bytes).map_err(|_| "too large")?;
        // O_SYNC asks for uncached.
        let mapping = Device::open(&file, libc::O_SYNC)?.map(addresses.start, bytes).map_err(|why| {
            format!("{why} (a kernel with STRICT_DEVMEM refuses memory that it or a driver uses)")
        })?;
        // SAFETY: reserved memory, which the kernel gives to nobody, and the user named it to be written to.
        Ok(unsafe { borrowed::region(mapping, cache_type) })
    }

    fn kernel_says(&self, places: &Places) -> Option<String> {
        pat::type_of(&places.debugfs(), &self.addresses.as_ref()?.0)
    }
}

/// The name in `/proc/iomem` of memory that the firmware or `memmap=START$SIZE` on the kernel's command line has
/// reserved. `Soft Reserved` is different: the kernel gives it to drivers (device-dax), like persistent memory.
const RESERVED: &str = "reserved";

/// An error unless the whole range is reserved and nothing else has a part of it.
///
/// Everything that the list names differently is in use: RAM under any name, the firmware's tables, devices and their
/// configuration, and what drivers have claimed within reserved memory. Addresses that it does not list may be
/// anything.
fn refuse_used(iomem: &Path, addresses: &Range<u64>) -> Result<(), String> {
    let list = fs::read_to_string(iomem).map_err(|error| format!("{}: {error}", iomem.display()))?;
    let entries: Vec<_> = list.lines().filter(|line| !line.trim().is_empty()).map(entry).collect();
    let unreadable = || format!("{} is not understood", iomem.display());
    let entries: Vec<(Range<u64>, &str)> =
        entries.into_iter().collect::<Option<_>>().ok_or_else(unreadable)?;
    // Without the rights, the kernel shows zeros.
    if entries.iter().all(|(range, _)| range.start == 0) {
        return Err(format!("{} shows no addresses; it needs root", iomem.display()));
    }
    let overlaps = |range: &Range<u64>| range.start < addresses.end && addresses.start < range.end;
    let (reserved, others): (Vec<_>, Vec<_>) = entries
        .into_iter()
        .filter(|(range, _)| overlaps(range))
        .partition(|(_, name)| name.eq_ignore_ascii_case(RESERVED));
    if let Some((range, name)) = others.first() {
        let (start, last) = (range.start, range.end - 1);
        return Err(format!("{start:#x} to {last:#x} is '{}', which others use", name.escape_debug()));
    }
    let mut covered = addresses.start;
    for (range, _) in reserved {
        // The list ascends.
        if range.start <= covered {
            covered = covered.max(range.end);
        }
    }
    if covered >= addresses.end {
        return Ok(());
    }
    Err(format!(
        "{covered:#x} is not reserved; set memory aside by memmap=SIZE$START on the kernel's command line"
    ))
}

/// `  fd000000-fdffffff : 0000:00:02.0`
fn entry(line: &str) -> Option<(Range<u64>, &str)> {
    let (range, name) = line.trim().split_once(" : ")?;
    let (start, last) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    // The last entry of some machines ends with all addresses.
    Some((number(start)?..number(last)?.saturating_add(1), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shortened from a server's, with the entries that a comparison with "System RAM" would let pass.
    const IOMEM: &str = "\
        00000000-00000fff : Reserved\n\
        00001000-0009ffff : System RAM\n\
        000a0000-000bffff : PCI Bus 0000:00\n\
        000f0000-000fffff : Reserved\n  000f0000-000fffff : System ROM\n\
        00100000-bffdffff : System RAM\n  01000000-01ffffff : Kernel code\n\
        bffe0000-bfffefff : ACPI Tables\n\
        bffff000-bfffffff : ACPI Non-volatile Storage\n\
        c0000000-cfffffff : Reserved\n\
        d0000000-d0ffffff : reserved\n\
        e0000000-efffffff : PCI MMCONFIG 0000 [bus 00-ff]\n\
        \x20 e0000000-efffffff : Reserved\n    e0000000-efffffff : pnp 00:00\n\
        fd000000-fdffffff : 0000:00:02.0\n\
        fec00000-fec003ff : IOAPIC 0\n\
        fee00000-fee00fff : Local APIC\n\
        ff000000-ffffffff : Reserved\n  ff000000-ff000fff : driver\n\
        100000000-1ffffffff : System RAM (kmem)\n\
        200000000-2ffffffff : Persistent Memory\n  200000000-2003fffff : namespace0.0\n\
        300000000-3ffffffff : Soft Reserved\n\
        400000000-ffffffffffffffff : Reserved\n";

    #[test]
    fn reads_addresses_or_says_what_is_wrong() {
        assert_eq!("4096+8192".parse(), Ok(Physical(0x1000..0x3000)));
        for bad in
            ["", "0x1000", "0x1000+0", "0x1001+0x1000", "0x1000+5", "-1+4096", "0xfffffffffffff000+0x2000"]
        {
            let why = bad.parse::<Physical>().unwrap_err().to_string();
            assert!(why.contains(&format!("'{bad}'")), "{why}");
        }
    }

    #[test]
    fn only_what_is_reserved_and_nobody_has_claimed_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let iomem = folder.path().join("iomem");
        let write = |text: &str| fs::write(&iomem, text).unwrap();
        write(IOMEM);
        let judge = |range: Range<u64>| refuse_used(&iomem, &range);
        for free in [
            0xc000_0000..0xc001_0000,
            0xcfff_f000..0xd000_1000,
            0xff00_1000..0x1_0000_0000,
            0x4_0000_0000..0x4_0000_1000,
        ] {
            assert_eq!(judge(free.clone()), Ok(()), "{free:x?}");
        }
        for (start, end, name) in [
            (0x1000, 0x2000, "System RAM"),
            (0xa_0000, 0xb_0000, "PCI Bus"),
            (0xf_0000, 0xf_1000, "System ROM"),
            (0x100_0000, 0x100_1000, "System RAM"),
            (0xbffe_0000, 0xbffe_1000, "ACPI Tables"),
            (0xbfff_f000, 0xc000_1000, "ACPI Non-volatile"),
            (0xe000_0000, 0xe000_1000, "PCI MMCONFIG"),
            (0xfd00_0000, 0xfd01_0000, "0000:00:02.0"),
            (0xfec0_0000, 0xfec0_1000, "IOAPIC"),
            (0xfee0_0000, 0xfee0_1000, "Local APIC"),
            (0xff00_0000, 0xff01_0000, "driver"),
            (0x1_0000_0000, 0x1_0000_1000, "System RAM (kmem)"),
            (0x2_0000_0000, 0x2_0000_1000, "Persistent Memory"),
            (0x3_0000_0000, 0x3_0000_1000, "Soft Reserved"),
            (0, 0x2000, "System RAM"),
        ] {
            let why = judge(start..end).unwrap_err();
            assert!(why.contains(name), "{start:x}: {why}");
        }
        for unnamed in [0xc_0000..0xd_0000, 0xd0ff_f000..0xd100_1000, 0xfe00_0000..0xfe00_1000] {
            assert!(judge(unnamed.clone()).unwrap_err().contains("is not reserved"), "{unnamed:x?}");
        }
        let some = || judge(0xc000_0000..0xc000_1000);
        write("00000000-00000000 : System RAM\n00000000-00000000 : Reserved\n");
        assert!(some().unwrap_err().contains("needs root"));
        write("");
        assert!(some().is_err());
        write("c0000000-cfffffff : Reserved\nhello\n");
        assert!(some().unwrap_err().contains("not understood"));
        assert!(refuse_used(Path::new("/nowhere"), &(0..1)).is_err());
    }

    #[test]
    fn writes_to_no_address_that_was_not_named() {
        let why = DevMem { addresses: None }.give(&Places::default(), CacheType::Uncached, 4096).unwrap_err();
        assert!(why.contains("only if"), "{why}");
    }

    #[test]
    fn maps_the_named_addresses_of_a_device_that_allows_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("iomem"),
            "00000000-00000fff : System RAM\n00001000-00003fff : Reserved\n",
        )
        .unwrap();
        fs::write(folder.path().join("mem"), vec![5; 32768]).unwrap();
        let places = Places { dev: folder.path().into(), proc: folder.path().into(), ..Places::default() };
        let memory = DevMem { addresses: Some("0x1000+0x2000".parse().unwrap()) };
        assert_eq!(memory.name(), "/dev/mem 0x1000+0x2000");
        let region = memory.give(&places, CacheType::Uncached, 1 << 20).unwrap();
        assert_eq!(region.bytes(), 0x2000);
        // SAFETY: the first byte of the region.
        assert_eq!(unsafe { region.start().read_volatile() }, 5);
    }
}
