//! Memory of a PCI device, as sysfs maps it: `resourceN` uncached, `resourceN_wc` write-combining.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use coho_profile::CacheType;

use super::super::Region;
use super::super::device::Device;
use super::{Places, Provider, borrowed, pat};

/// `IORESOURCE_MEM`
const MEMORY: u64 = 0x200;
const PAGE: u64 = 4096;

/// A memory resource. The user must name it, since it is written.
pub(super) struct PciBar {
    /// As in `/sys/bus/pci/devices/0000:01:00.0/resource2_wc`; `None` if none was named.
    pub(super) file: Option<PathBuf>,
}

impl Provider for PciBar {
    fn name(&self) -> String {
        match &self.file {
            Some(file) => format!("PCI {}", file.display()),
            None => "PCI".into(),
        }
    }

    fn types(&self) -> &'static [CacheType] {
        match &self.file {
            Some(file) if combines(file) => &[CacheType::WriteCombining],
            Some(_) => &[CacheType::Uncached],
            None => &[CacheType::WriteCombining, CacheType::Uncached],
        }
    }

    fn give(&self, _places: &Places, cache_type: CacheType, bytes: usize) -> Result<Region, String> {
        let file =
            self.file.as_deref().ok_or("used only if a device's resource is named: it is written to")?;
        let addresses = addresses(file)?;
        let bytes =
            (bytes as u64).next_multiple_of(PAGE).min((addresses.end - addresses.start) / PAGE * PAGE);
        let bytes = usize::try_from(bytes).map_err(|_| "too large")?;
        let mapping = Device::open(file, libc::O_SYNC)?.map(0, bytes)?;
        // SAFETY: no driver uses the device, and the user named this memory to be written to.
        Ok(unsafe { borrowed::region(mapping, cache_type) })
    }

    fn kernel_says(&self, places: &Places) -> Option<String> {
        pat::type_of(&places.debugfs(), &addresses(self.file.as_deref()?).ok()?)
    }
}

fn combines(file: &Path) -> bool {
    file.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with("_wc"))
}

/// The physical addresses of a resource that may be used.
fn addresses(file: &Path) -> Result<Range<u64>, String> {
    let shown = file.display();
    let number = file
        .file_name()
        .and_then(|name| name.to_str()?.strip_prefix("resource"))
        .and_then(|rest| rest.strip_suffix("_wc").unwrap_or(rest).parse::<usize>().ok());
    let (Some(number), Some(device)) = (number, file.parent()) else {
        return Err(format!(
            "{shown} is not a resource of a PCI device; give one such as \
             /sys/bus/pci/devices/0000:01:00.0/resource2_wc"
        ));
    };
    let table = fs::read_to_string(device.join("resource"))
        .map_err(|error| format!("{} is not the folder of a PCI device: {error}", device.display()))?;
    let addresses = table
        .lines()
        .nth(number)
        .and_then(line)
        .ok_or_else(|| format!("{shown}: the device has no memory as its resource {number}"))?;
    if !file.exists() {
        let why = if combines(file) { ": only prefetchable memory has a _wc file" } else { "" };
        return Err(format!("{shown} is not there{why}"));
    }
    if let Ok(driver) = fs::canonicalize(device.join("driver")) {
        let driver = driver.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Err(format!("{shown}: the driver {driver} uses the device; unbind it first"));
    }
    let enabled = fs::read_to_string(device.join("enable")).is_ok_and(|text| text.trim() != "0");
    if !enabled {
        let device = device.display();
        return Err(format!("{shown}: the device is not enabled; as root: echo 1 > {device}/enable"));
    }
    Ok(addresses)
}

/// A line of the file `resource`: first and last address, flags. `None` if it is not memory of at least a page.
fn line(line: &str) -> Option<Range<u64>> {
    let mut numbers =
        line.split_whitespace().map(|text| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok());
    let (start, last, flags) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let end = last.checked_add(1)?;
    (flags & MEMORY != 0 && end.checked_sub(start)? >= PAGE).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A device with registers, a prefetchable memory of 64 KiB and an I/O port.
    fn device() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let resources = "0x00000000febf0000 0x00000000febf00ff 0x0000000000040200\n\
                         0x000000000000c000 0x000000000000c03f 0x0000000000040101\n\
                         0x00000000fd000000 0x00000000fd00ffff 0x0000000000042208\n";
        fs::write(folder.path().join("resource"), resources).unwrap();
        fs::write(folder.path().join("enable"), "1\n").unwrap();
        fs::write(folder.path().join("resource2"), vec![3; 65536]).unwrap();
        fs::write(folder.path().join("resource2_wc"), vec![3; 65536]).unwrap();
        folder
    }

    #[test]
    fn maps_what_was_named_and_no_more_than_there_is() {
        let device = device();
        for (name, cache_type) in
            [("resource2", CacheType::Uncached), ("resource2_wc", CacheType::WriteCombining)]
        {
            let file = device.path().join(name);
            let bar = PciBar { file: Some(file.clone()) };
            assert_eq!(bar.types(), [cache_type]);
            let region = bar.give(&Places::default(), cache_type, 1 << 20).unwrap();
            assert_eq!(region.bytes(), 65536);
            region.touch();
            drop(region);
            assert!(fs::read(file).unwrap().iter().all(|&byte| byte == 3));
        }
    }

    #[test]
    fn says_why_a_resource_cannot_be_used() {
        let device = device();
        let why = |name: &str| addresses(&device.path().join(name)).unwrap_err();
        assert!(why("config").contains("not a resource of a PCI device"), "{}", why("config"));
        assert!(why("resource0").contains("no memory as its resource 0"), "too small: {}", why("resource0"));
        assert!(why("resource1").contains("no memory as its resource 1"), "ports: {}", why("resource1"));
        assert!(why("resource7").contains("no memory as its resource 7"));
        assert!(
            addresses(Path::new("/nowhere/resource0"))
                .unwrap_err()
                .contains("not the folder of a PCI device")
        );
        fs::remove_file(device.path().join("resource2_wc")).unwrap();
        assert!(why("resource2_wc").contains("prefetchable"));
        fs::write(device.path().join("enable"), "0\n").unwrap();
        assert!(why("resource2").contains("not enabled"));
        fs::create_dir(device.path().join("nvme")).unwrap();
        symlink(device.path().join("nvme"), device.path().join("driver")).unwrap();
        assert!(why("resource2").contains("the driver nvme uses the device"));
    }

    #[test]
    fn writes_to_no_device_that_was_not_named() {
        let unnamed = PciBar { file: None };
        assert_eq!(unnamed.types(), [CacheType::WriteCombining, CacheType::Uncached]);
        let why = unnamed.give(&Places::default(), CacheType::Uncached, 4096).unwrap_err();
        assert!(why.contains("only if"), "{why}");
    }
}
