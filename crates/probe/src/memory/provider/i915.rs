//! Intel graphics, driver i915: user space chooses how a buffer is mapped.

use std::os::fd::AsFd;

use coho_profile::CacheType;

use super::super::Region;
use super::{Places, Provider, drm, ioctl};

/// `struct drm_i915_gem_create`
#[repr(C)]
#[derive(Default)]
struct Create {
    size: u64,
    handle: u32,
    padding: u32,
}

/// `struct drm_i915_gem_mmap_offset`
#[repr(C)]
#[derive(Default)]
struct MmapOffset {
    handle: u32,
    padding: u32,
    offset: u64,
    flags: u64,
    extensions: u64,
}

const CREATE: libc::Ioctl = ioctl::asks::<Create>(drm::GROUP, drm::DRIVERS + 0x1b);
const MMAP_OFFSET: libc::Ioctl = ioctl::asks::<MmapOffset>(drm::GROUP, drm::DRIVERS + 0x24);

/// `I915_MMAP_OFFSET_WC`, `_WB`, `_UC`
const fn flag(cache_type: CacheType) -> u64 {
    match cache_type {
        CacheType::WriteCombining => 1,
        CacheType::WriteBack => 2,
        CacheType::Uncached => 3,
    }
}

pub(super) struct I915;

impl Provider for I915 {
    fn name(&self) -> String {
        "i915".into()
    }

    fn types(&self) -> &'static [CacheType] {
        &[CacheType::WriteCombining, CacheType::Uncached]
    }

    fn give(&self, places: &Places, cache_type: CacheType, bytes: usize) -> Result<Region, String> {
        let node = drm::open(places, "i915", drm::Node::Render)?;
        let mut create = Create { size: bytes as u64, ..Create::default() };
        // SAFETY: the request's argument is of this type and holds no pointers.
        unsafe { ioctl::call(node.as_fd(), CREATE, &mut create) }
            .map_err(|error| node.failed("creating a buffer", &error))?;
        let mut map = MmapOffset { handle: create.handle, flags: flag(cache_type), ..MmapOffset::default() };
        // SAFETY: as above; there are no extensions.
        unsafe { ioctl::call(node.as_fd(), MMAP_OFFSET, &mut map) }
            .map_err(|error| node.failed(&format!("asking for a {cache_type} mapping"), &error))?;
        // The driver rounds the size up to pages.
        let size = usize::try_from(create.size).map_err(|_| "too large".to_string())?;
        let mapping = node.map(map.offset, size)?;
        // SAFETY: the buffer is new and known to this open file only, which frees it when it is closed.
        Ok(unsafe { mapping.into_region(cache_type) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_the_kernels() {
        assert_eq!(CREATE, 0xc010_645b);
        assert_eq!(MMAP_OFFSET, 0xc020_6464);
    }
}
