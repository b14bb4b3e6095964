//! CUDA's driver interface, if its library and a device are present.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use crate::library::Library;

const SUCCESS: c_int = 0;

type Context = *mut c_void;
type Stream = *mut c_void;
type Event = *mut c_void;
/// An address on the device.
type DevicePointer = u64;

/// How the CPU maps host memory that the device can access by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Cached as usual.
    Pinned,
    /// `CU_MEMHOSTALLOC_WRITECOMBINED`
    WriteCombined,
}

/// The library, and the first device's context, which both stay until the process ends.
pub(super) struct Cuda {
    context: Context,
    ctx_set_current: unsafe extern "C" fn(Context) -> c_int,
    get_error_string: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int,
    mem_host_alloc: unsafe extern "C" fn(*mut *mut c_void, usize, c_uint) -> c_int,
    mem_free_host: unsafe extern "C" fn(*mut c_void) -> c_int,
    mem_alloc: unsafe extern "C" fn(*mut DevicePointer, usize) -> c_int,
    mem_free: unsafe extern "C" fn(DevicePointer) -> c_int,
    memcpy_htod_async: unsafe extern "C" fn(DevicePointer, *const c_void, usize, Stream) -> c_int,
    memcpy_dtoh_async: unsafe extern "C" fn(*mut c_void, DevicePointer, usize, Stream) -> c_int,
    event_create: unsafe extern "C" fn(*mut Event, c_uint) -> c_int,
    event_record: unsafe extern "C" fn(Event, Stream) -> c_int,
    event_synchronize: unsafe extern "C" fn(Event) -> c_int,
    event_elapsed_time: unsafe extern "C" fn(*mut f32, Event, Event) -> c_int,
    event_destroy: unsafe extern "C" fn(Event) -> c_int,
}

// SAFETY: contexts and the driver's functions may be used from any thread; each makes the context current first.
unsafe impl Send for Cuda {}
// SAFETY: as above.
unsafe impl Sync for Cuda {}

impl Cuda {
    /// The first device; or why there is none.
    pub(super) fn get() -> Result<&'static Self, String> {
        static CUDA: OnceLock<Result<Cuda, String>> = OnceLock::new();
        CUDA.get_or_init(Self::load).as_ref().map_err(Clone::clone)
    }

    fn load() -> Result<Self, String> {
        let library = Library::load(&["libcuda.so.1"])?;
        // SAFETY: the types are those of cuda.h; a name keeps its type, newer ones get a suffix.
        unsafe {
            let init: unsafe extern "C" fn(c_uint) -> c_int = library.function("cuInit")?;
            let device_get: unsafe extern "C" fn(*mut c_int, c_int) -> c_int =
                library.function("cuDeviceGet")?;
            let retain: unsafe extern "C" fn(*mut Context, c_int) -> c_int =
                library.function("cuDevicePrimaryCtxRetain")?;
            let mut cuda = Self {
                context: ptr::null_mut(),
                ctx_set_current: library.function("cuCtxSetCurrent")?,
                get_error_string: library.function("cuGetErrorString")?,
                mem_host_alloc: library.function("cuMemHostAlloc")?,
                mem_free_host: library.function("cuMemFreeHost")?,
                mem_alloc: library.function("cuMemAlloc_v2")?,
                mem_free: library.function("cuMemFree_v2")?,
                memcpy_htod_async: library.function("cuMemcpyHtoDAsync_v2")?,
                memcpy_dtoh_async: library.function("cuMemcpyDtoHAsync_v2")?,
                event_create: library.function("cuEventCreate")?,
                event_record: library.function("cuEventRecord")?,
                event_synchronize: library.function("cuEventSynchronize")?,
                event_elapsed_time: library.function("cuEventElapsedTime")?,
                event_destroy: library.function("cuEventDestroy_v2")?,
            };
            cuda.must("cuInit", init(0))?;
            let mut device = 0;
            cuda.must("cuDeviceGet", device_get(&mut device, 0))?;
            let mut context = ptr::null_mut();
            cuda.must("cuDevicePrimaryCtxRetain", retain(&mut context, device))?;
            cuda.context = context;
            Ok(cuda)
        }
    }

    fn must(&self, call: &str, code: c_int) -> Result<(), String> {
        if code == SUCCESS {
            return Ok(());
        }
        let mut text = ptr::null();
        // SAFETY: `text` is valid for writes; CUDA puts null there, or a C string that stays.
        let known = unsafe { (self.get_error_string)(code, &mut text) } == SUCCESS && !text.is_null();
        // SAFETY: as above.
        let text = if known { unsafe { CStr::from_ptr(text) } } else { c"unknown error" };
        Err(format!("{call}: {} ({code})", text.to_string_lossy()))
    }

    /// Calls work in the context of the thread that makes them.
    fn enter(&self) -> Result<(), String> {
        // SAFETY: the context stays until the process ends.
        self.must("cuCtxSetCurrent", unsafe { (self.ctx_set_current)(self.context) })
    }

    /// Memory that the device can read and write by itself, aligned to a page.
    pub(super) fn host_memory(&'static self, bytes: usize, kind: Kind) -> Result<HostMemory, String> {
        self.enter()?;
        let flags = match kind {
            Kind::Pinned => 0,
            Kind::WriteCombined => 0x04,
        };
        let mut start = ptr::null_mut();
        // SAFETY: `start` is valid for writes.
        self.must("cuMemHostAlloc", unsafe { (self.mem_host_alloc)(&mut start, bytes, flags) })?;
        let start = NonNull::new(start.cast()).ok_or("cuMemHostAlloc gave no address")?;
        Ok(HostMemory { cuda: self, start })
    }

    /// Host memory and a device's memory, of the same size, between which the device's engine copies.
    pub(super) fn engine(&'static self, bytes: usize) -> Result<CopyEngine, String> {
        let host = self.host_memory(bytes, Kind::Pinned)?;
        let mut engine = CopyEngine { host, device: 0, begin: ptr::null_mut(), end: ptr::null_mut(), bytes };
        // SAFETY: what is written to is valid for writes.
        unsafe {
            self.must("cuMemAlloc", (self.mem_alloc)(&mut engine.device, bytes))?;
            self.must("cuEventCreate", (self.event_create)(&mut engine.begin, 0))?;
            self.must("cuEventCreate", (self.event_create)(&mut engine.end, 0))?;
        }
        Ok(engine)
    }
}

/// Host memory from CUDA; dropping it frees it.
pub(super) struct HostMemory {
    cuda: &'static Cuda,
    start: NonNull<u8>,
}

// SAFETY: the memory belongs to this value.
unsafe impl Send for HostMemory {}
// SAFETY: shared access is by raw pointer only.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if self.cuda.enter().is_ok() {
            // SAFETY: from cuMemHostAlloc, and nothing refers to it any more.
            unsafe { (self.cuda.mem_free_host)(self.start.as_ptr().cast()) };
        }
    }
}

/// Which way a copy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    ToDevice,
    ToHost,
}

/// The device's engine that copies by itself.
pub(super) struct CopyEngine {
    host: HostMemory,
    device: DevicePointer,
    begin: Event,
    end: Event,
    bytes: usize,
}

impl CopyEngine {
    /// The host's end of a copy.
    pub(super) fn host(&self) -> NonNull<u8> {
        self.host.start
    }

    /// One copy; its time by the device's own clock, in ns.
    pub(super) fn copy(&mut self, direction: Direction, bytes: usize) -> Result<f64, String> {
        assert!(bytes <= self.bytes, "a copy stays within the memory");
        let cuda = self.host.cuda;
        cuda.enter()?;
        let host = self.host.start.as_ptr().cast::<c_void>();
        let stream = ptr::null_mut();
        let mut ms = 0.0;
        // SAFETY: both memories have `bytes` and live until the copy has ended, which is waited for.
        unsafe {
            cuda.must("cuEventRecord", (cuda.event_record)(self.begin, stream))?;
            let copied = match direction {
                Direction::ToDevice => (cuda.memcpy_htod_async)(self.device, host, bytes, stream),
                Direction::ToHost => (cuda.memcpy_dtoh_async)(host, self.device, bytes, stream),
            };
            cuda.must("cuMemcpyAsync", copied)?;
            cuda.must("cuEventRecord", (cuda.event_record)(self.end, stream))?;
            cuda.must("cuEventSynchronize", (cuda.event_synchronize)(self.end))?;
            cuda.must("cuEventElapsedTime", (cuda.event_elapsed_time)(&mut ms, self.begin, self.end))?;
        }
        Ok(f64::from(ms) * 1e6)
    }
}

impl Drop for CopyEngine {
    fn drop(&mut self) {
        let cuda = self.host.cuda;
        if cuda.enter().is_err() {
            return;
        }
        // SAFETY: each is from CUDA where it is not null, and no copy is under way.
        unsafe {
            for event in [self.begin, self.end] {
                if !event.is_null() {
                    (cuda.event_destroy)(event);
                }
            }
            if self.device != 0 {
                (cuda.mem_free)(self.device);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_there_and_back_or_says_why_not() {
        let mut engine = match Cuda::get().and_then(|cuda| cuda.engine(4096)) {
            Ok(engine) => engine,
            Err(why) => {
                assert!(!why.is_empty());
                return;
            }
        };
        // SAFETY: the engine's own 4096 bytes, between copies.
        let bytes = unsafe { std::slice::from_raw_parts_mut(engine.host().as_ptr(), 4096) };
        bytes.fill(0x5a);
        assert!(engine.copy(Direction::ToDevice, 4096).unwrap() > 0.0);
        bytes.fill(0);
        assert!(engine.copy(Direction::ToHost, 4096).unwrap() > 0.0);
        assert!(bytes.iter().all(|&byte| byte == 0x5a));
    }
}
