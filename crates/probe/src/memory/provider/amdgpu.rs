//! AMD graphics, driver amdgpu: buffers in RAM that the CPU does not cache.

use std::os::fd::AsFd;

use coho_profile::CacheType;

use super::super::Region;
use super::{Places, Provider, drm, ioctl};

/// RAM that the device sees (`AMDGPU_GEM_DOMAIN_GTT`).
const DOMAIN_GTT: u64 = 0x2;
/// `AMDGPU_GEM_CREATE_CPU_GTT_USWC`
const CPU_GTT_USWC: u64 = 1 << 2;

/// `union drm_amdgpu_gem_create`: the request, which the handle overwrites.
#[repr(C)]
struct Create {
    bytes: u64,
    alignment: u64,
    domains: u64,
    flags: u64,
}

/// `union drm_amdgpu_gem_mmap`: the handle, which the offset overwrites.
#[repr(C)]
struct Mmap {
    handle_or_offset: u64,
}

const CREATE: libc::Ioctl = ioctl::asks::<Create>(drm::GROUP, drm::DRIVERS);
const MMAP: libc::Ioctl = ioctl::asks::<Mmap>(drm::GROUP, drm::DRIVERS + 0x01);

pub(super) struct Amdgpu;

impl Provider for Amdgpu {
    fn name(&self) -> String {
        "amdgpu".into()
    }

    fn types(&self) -> &'static [CacheType] {
        &[CacheType::WriteCombining]
    }

    fn give(&self, places: &Places, cache_type: CacheType, bytes: usize) -> Result<Region, String> {
        let node = drm::open(places, "amdgpu", drm::Node::Render)?;
        let bytes = bytes.next_multiple_of(4096);
        let mut create =
            Create { bytes: bytes as u64, alignment: 4096, domains: DOMAIN_GTT, flags: CPU_GTT_USWC };
        // SAFETY: the request's argument is of this type and holds no pointers.
        unsafe { ioctl::call(node.as_fd(), CREATE, &mut create) }
            .map_err(|error| node.failed("creating a buffer", &error))?;
        // Both are little-endian machines: the handle is the first word's lower half.
        let mut map = Mmap { handle_or_offset: create.bytes & u64::from(u32::MAX) };
        // SAFETY: as above.
        unsafe { ioctl::call(node.as_fd(), MMAP, &mut map) }
            .map_err(|error| node.failed("asking where a buffer is", &error))?;
        let mapping = node.map(map.handle_or_offset, bytes)?;
        // SAFETY: the buffer is new and known to this open file only, which frees it when it is closed.
        Ok(unsafe { mapping.into_region(cache_type) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_the_kernels() {
        assert_eq!(CREATE, 0xc020_6440);
        assert_eq!(MMAP, 0xc008_6441);
    }
}
