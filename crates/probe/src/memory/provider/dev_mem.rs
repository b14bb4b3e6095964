//! Physical addresses by /dev/mem, uncached: memory outside what the kernel uses as RAM.

use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use coho_profile::CacheType;

use super::super::Region;
use super::super::device::Device;
use super::{Places, Provider, borrowed, pat};

const PAGE: u64 = 4096;

/// Physical addresses that the user named, since they are written to.
///
/// ```
/// use coho_probe::memory::provider::Physical;
/// assert_eq!("0xfd000000+0x10000".parse::<Physical>()?.to_string(), "0xfd000000+0x10000");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Physical(Range<u64>);

impl FromStr for Physical {
    type Err = String;

    /// `START+BYTES`, either in hexadecimal with `0x` or in decimal; whole pages.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let (start, bytes) = text
            .split_once('+')
            .and_then(|(start, bytes)| Some((number(start)?, number(bytes)?)))
            .ok_or_else(|| format!("'{text}' is not START+BYTES, as 0xfd000000+0x10000"))?;
        let end = start.checked_add(bytes).ok_or_else(|| format!("'{text}' ends beyond all addresses"))?;
        if bytes == 0 || start % PAGE != 0 || bytes % PAGE != 0 {
            return Err(format!("'{text}' is not whole pages of {PAGE} bytes"));
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
        refuse_ram(&places.proc.join("iomem"), addresses)?;
        let bytes = (bytes as u64).next_multiple_of(PAGE).min(addresses.end - addresses.start);
        let bytes = usize::try_from(bytes).map_err(|_| "too large")?;
        // O_SYNC asks for uncached.
        let mapping = Device::open(&file, libc::O_SYNC)?
            .map(addresses.start, bytes)
            .map_err(|why| format!("{why} (a kernel with STRICT_DEVMEM refuses what drivers or it use)"))?;
        // SAFETY: no RAM of the kernel's, and the user named this memory to be written to.
        Ok(unsafe { borrowed::region(mapping, cache_type) })
    }

    fn kernel_says(&self, places: &Places) -> Option<String> {
        pat::type_of(&places.debugfs(), &self.addresses.as_ref()?.0)
    }
}

/// An error if any of the addresses is RAM, or if that cannot be told.
fn refuse_ram(iomem: &Path, addresses: &Range<u64>) -> Result<(), String> {
    let list = fs::read_to_string(iomem).map_err(|error| format!("{}: {error}", iomem.display()))?;
    let all: Vec<_> = list.lines().filter_map(entry).collect();
    // Without the rights, the kernel shows zeros.
    if all.iter().all(|(range, _)| range.start == 0) {
        return Err(format!("{} shows no addresses; it needs root", iomem.display()));
    }
    let ram = all.iter().find(|(range, name)| {
        *name == "System RAM" && range.start < addresses.end && addresses.start < range.end
    });
    ram.map_or(Ok(()), |(range, _)| {
        Err(format!("{:#x} to {:#x} is RAM, which others use", range.start, range.end - 1))
    })
}

/// `  fd000000-fdffffff : 0000:00:02.0`
fn entry(line: &str) -> Option<(Range<u64>, &str)> {
    let (range, name) = line.trim().split_once(" : ")?;
    let (start, last) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(start)?..number(last)?.checked_add(1)?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IOMEM: &str = "00001000-0009ffff : System RAM\n000a0000-000bffff : PCI Bus 0000:00\n\
                         00100000-bffdffff : System RAM\n  01000000-01ffffff : Kernel code\n\
                         fd000000-fdffffff : 0000:00:02.0\n";

    #[test]
    fn reads_addresses_or_says_what_is_wrong() {
        assert_eq!("4096+8192".parse(), Ok(Physical(0x1000..0x3000)));
        for bad in
            ["", "0x1000", "0x1000+0", "0x1001+0x1000", "0x1000+5", "-1+4096", "0xfffffffffffff000+0x2000"]
        {
            let why = bad.parse::<Physical>().unwrap_err();
            assert!(why.contains(&format!("'{bad}'")), "{why}");
        }
    }

    #[test]
    fn leaves_ram_alone() {
        let folder = tempfile::tempdir().unwrap();
        let iomem = folder.path().join("iomem");
        fs::write(&iomem, IOMEM).unwrap();
        let why = |start, end| refuse_ram(&iomem, &(start..end)).unwrap_err();
        assert_eq!(refuse_ram(&iomem, &(0xfd00_0000..0xfd01_0000)), Ok(()));
        assert_eq!(refuse_ram(&iomem, &(0xa_0000..0xb_0000)), Ok(()));
        assert!(why(0xb_f000, 0x10_1000).contains("0x100000 to 0xbffdffff is RAM"));
        assert!(why(0x1100_0000, 0x1100_1000).contains("is RAM"));
        fs::write(&iomem, "00000000-00000000 : System RAM\n").unwrap();
        assert!(why(0xfd00_0000, 0xfd01_0000).contains("needs root"));
        assert!(refuse_ram(Path::new("/nowhere"), &(0..1)).is_err());
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
            IOMEM.replace("fd000000", "00000000").replace("1000-0", "9000-0"),
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
