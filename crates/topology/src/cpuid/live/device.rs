//! Linux's cpuid driver, which asks a CPU by interrupting it, so that nothing has to wait for a busy one.

use std::fs::File;
use std::io::Read;
use std::io::{Seek, SeekFrom};
use std::path::PathBuf;

use super::ask::ask;
use crate::cpuid::dump::{Dump, Registers};
use crate::{CpuSet, Error};

/// As [`live`](super::live), but through `/dev/cpu/N/cpuid`, which also asks CPUs that this process may not run on.
/// It needs the kernel module `cpuid` and the right to read the devices, usually root's.
///
/// # Errors
/// If a device is missing or may not be read, which the error names, or `cpus` is empty.
pub fn live_by_device(cpus: &CpuSet) -> Result<Dump, Error> {
    let mut dump = Dump::default();
    for os in cpus.iter() {
        let path = PathBuf::from(format!("/dev/cpu/{os}/cpuid"));
        let io = |error| Error::io(&path, &error);
        let device = File::open(&path).map_err(io)?;
        let cpuid = |leaf, subleaf| read(&device, leaf, subleaf).map_err(io);
        dump.cpus.push(ask(os, cpuid)?);
    }
    if dump.cpus.is_empty() {
        return Err(Error::new("CPUID: no CPU to ask"));
    }
    Ok(dump)
}

/// The file offset is the question: EAX in the lower half, ECX in the upper.
fn read(mut device: &File, leaf: u32, subleaf: u32) -> std::io::Result<Registers> {
    device.seek(SeekFrom::Start(u64::from(subleaf) << 32 | u64::from(leaf)))?;
    let mut answer = [[0; 4]; 4];
    device.read_exact(answer.as_flattened_mut())?;
    Ok(Registers::new(answer.map(u32::from_ne_bytes)))
}
