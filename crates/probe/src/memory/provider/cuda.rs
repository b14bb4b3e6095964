//! Host memory that CUDA maps write-combining.

use coho_profile::CacheType;

use super::super::Region;
use super::super::cuda::{Cuda, Kind};
use super::{Places, Provider};

pub(super) struct CudaHost;

impl Provider for CudaHost {
    fn name(&self) -> String {
        "CUDA host memory".into()
    }

    fn types(&self) -> &'static [CacheType] {
        &[CacheType::WriteCombining]
    }

    fn give(&self, _places: &Places, cache_type: CacheType, bytes: usize) -> Result<Region, String> {
        let memory = Cuda::get()?.host_memory(bytes, Kind::WriteCombined)?;
        let start = memory.start();
        // SAFETY: new memory that only `memory` refers to, aligned to a page.
        Ok(unsafe { Region::from_raw(start, bytes, cache_type, memory) })
    }
}
