//! The project's own kernel module, coho_mem: RAM of each type, and WBINVD (`kernel/coho_mem.h`).

use std::os::fd::AsFd;

use coho_profile::CacheType;

use super::super::Region;
use super::super::device::Device;
use super::{Places, Provider, ioctl};
use crate::Error;

/// Any memory node.
const ANY_NODE: i32 = -1;

/// `struct coho_mem_alloc`
#[repr(C)]
struct Alloc {
    bytes: u64,
    cache_type: u32,
    node: i32,
}

/// `struct coho_mem_wbinvd`
#[repr(C)]
#[derive(Default)]
struct Wbinvd {
    cpu: u32,
    reserved: u32,
    ns: u64,
    ticks: u64,
}

const ALLOC: libc::Ioctl = ioctl::tells::<Alloc>(b'h', 0xc0);
const WBINVD: libc::Ioctl = ioctl::asks::<Wbinvd>(b'h', 0xc1);

fn open(places: &Places) -> Result<Device, String> {
    let path = places.dev.join("coho_mem");
    if !path.exists() {
        return Err("the module coho_mem is not loaded; kernel/README.md says how".into());
    }
    Device::open(&path, 0)
}

pub(super) struct Module {
    /// NUMA node, if it matters.
    pub(super) node: Option<u32>,
}

impl Provider for Module {
    fn name(&self) -> String {
        "coho_mem".into()
    }

    fn types(&self) -> &'static [CacheType] {
        &CacheType::ALL
    }

    fn give(&self, places: &Places, cache_type: CacheType, bytes: usize) -> Result<Region, String> {
        let device = open(places)?;
        let node = self.node.map_or(Ok(ANY_NODE), i32::try_from).map_err(|_| "no such memory node")?;
        let bytes = bytes.next_multiple_of(4096);
        let mut wish = Alloc {
            bytes: bytes as u64,
            cache_type: match cache_type {
                CacheType::WriteBack => 0,
                CacheType::WriteCombining => 1,
                CacheType::Uncached => 2,
            },
            node,
        };
        // SAFETY: the request's argument is of this type and holds no pointers.
        unsafe { ioctl::call(device.as_fd(), ALLOC, &mut wish) }.map_err(|error| {
            let hint = match error.raw_os_error() {
                Some(libc::ENOSPC) => "; its limit is in /sys/module/coho_mem/parameters/limit_mib",
                Some(libc::EOPNOTSUPP) => "; page attributes (PAT) are off on this machine",
                _ => "",
            };
            device.failed(&format!("{bytes} bytes of {cache_type}"), &error) + hint
        })?;
        let mapping = device.map(0, bytes)?;
        // SAFETY: the pages are new and belong to this open file only.
        let region = unsafe { mapping.into_region(cache_type) }.on_pages_of(4096);
        Ok(match self.node {
            Some(node) => region.on_node(node),
            None => region,
        })
    }
}

/// WBINVD by the module.
pub struct CacheFlusher(Device);

impl CacheFlusher {
    /// # Errors
    /// [`Error::NotAvailable`] if there is no module, or no right to use it.
    pub fn open() -> Result<Self, Error> {
        open(&Places::default()).map(Self).map_err(Error::NotAvailable)
    }

    /// Makes `cpu` write back all modified lines of its caches and empty them; returns the time that it took, in ns.
    ///
    /// # Errors
    /// [`Error::NotAvailable`] if the CPU is offline, or the machine a guest in which the instruction is forbidden.
    pub fn wbinvd(&self, cpu: u32) -> Result<f64, Error> {
        let mut flush = Wbinvd { cpu, ..Wbinvd::default() };
        // SAFETY: the request's argument is of this type and holds no pointers.
        unsafe { ioctl::call(self.0.as_fd(), WBINVD, &mut flush) }
            .map_err(|error| Error::NotAvailable(self.0.failed(&format!("WBINVD on CPU {cpu}"), &error)))?;
        Ok(flush.ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_the_modules() {
        assert_eq!(ALLOC, 0x4010_68c0);
        assert_eq!(WBINVD, 0xc018_68c1);
    }

    #[test]
    fn says_that_the_module_is_not_loaded_or_not_it() {
        let dev = tempfile::tempdir().unwrap();
        let places = Places { dev: dev.path().into(), ..Places::default() };
        let give = || Module { node: None }.give(&places, CacheType::Uncached, 4096).unwrap_err();
        assert!(give().contains("not loaded"));
        std::fs::write(dev.path().join("coho_mem"), "").unwrap();
        assert!(give().contains("coho_mem: 4096 bytes of UC"), "{}", give());
    }
}
