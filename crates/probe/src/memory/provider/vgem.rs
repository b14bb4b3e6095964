//! vgem, the driver of a virtual graphics device: its buffers are plain RAM, mapped write-combining.

use std::os::fd::AsFd;

use coho_profile::CacheType;

use super::super::Region;
use super::{Places, Provider, drm, ioctl};

/// Bytes of a line of pixels: a page.
const ROW: usize = 4096;

/// `struct drm_mode_create_dumb`
#[repr(C)]
#[derive(Default)]
struct CreateDumb {
    height: u32,
    width: u32,
    bits_per_pixel: u32,
    flags: u32,
    handle: u32,
    pitch: u32,
    size: u64,
}

/// `struct drm_mode_map_dumb`
#[repr(C)]
#[derive(Default)]
struct MapDumb {
    handle: u32,
    padding: u32,
    offset: u64,
}

const CREATE_DUMB: libc::Ioctl = ioctl::asks::<CreateDumb>(drm::GROUP, 0xb2);
const MAP_DUMB: libc::Ioctl = ioctl::asks::<MapDumb>(drm::GROUP, 0xb3);

pub(super) struct Vgem;

impl Provider for Vgem {
    fn name(&self) -> String {
        "vgem".into()
    }

    fn types(&self) -> &'static [CacheType] {
        &[CacheType::WriteCombining]
    }

    fn give(&self, places: &Places, cache_type: CacheType, bytes: usize) -> Result<Region, String> {
        let card = drm::open(places, "vgem").map_err(|why| format!("{why}; as root: modprobe vgem"))?;
        let height = u32::try_from(bytes.div_ceil(ROW)).map_err(|_| "too large".to_string())?;
        let mut create =
            CreateDumb { height, width: ROW as u32 / 4, bits_per_pixel: 32, ..CreateDumb::default() };
        // SAFETY: the request's argument is of this type and holds no pointers.
        unsafe { ioctl::call(card.as_fd(), CREATE_DUMB, &mut create) }
            .map_err(|error| card.failed("creating a buffer", &error))?;
        let mut map = MapDumb { handle: create.handle, ..MapDumb::default() };
        // SAFETY: as above.
        unsafe { ioctl::call(card.as_fd(), MAP_DUMB, &mut map) }
            .map_err(|error| card.failed("asking where a buffer is", &error))?;
        let size = usize::try_from(create.size).map_err(|_| "too large".to_string())?;
        let mapping = card.map(map.offset, size)?;
        // SAFETY: the buffer is new and known to this open file only, which frees it when it is closed.
        Ok(unsafe { mapping.into_region(cache_type) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_the_kernels() {
        assert_eq!(CREATE_DUMB, 0xc020_64b2);
        assert_eq!(MAP_DUMB, 0xc010_64b3);
    }
}
