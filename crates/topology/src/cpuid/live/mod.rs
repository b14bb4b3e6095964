//! CPUID on the machine that this runs on.

mod ask;
mod device;
mod instruction;
mod priority;

use std::thread;

use coho_platform::pin;

use super::dump::{CpuAnswers, Dump};
use crate::{CpuSet, Error};

pub use device::live_by_device;

/// A thread that executes CPUID needs hardly any stack, and there is one for each CPU.
const STACK_BYTES: usize = 64 << 10;

/// Asks the leaves that [`decode`](super::decode) reads, on each of `cpus` at once: the calling thread on the CPU it is
/// on, a thread of its own on every other, each pinned and its pin verified. So the time taken is that of the slowest
/// CPU, not the sum. If the process may, it runs the threads at the lowest real-time priority for that moment (some 0.1
/// ms), so that they need not wait even for a busy CPU. The calling thread's affinity and priority are restored.
///
/// ```no_run
/// use coho_topology::cpuid;
/// let dump = cpuid::live(&cpuid::allowed_cpus()?)?;
/// println!("{}", cpuid::decode(&dump)?.counts().core);
/// # Ok::<(), coho_topology::Error>(())
/// ```
///
/// # Errors
/// If the architecture has no CPUID, the operating system cannot pin a thread, or a CPU is not one of [`allowed_cpus`].
pub fn live(cpus: &CpuSet) -> Result<Dump, Error> {
    instruction::available()?;
    let allowed = allowed_cpus()?;
    let outside = cpus.difference(&allowed);
    if !outside.is_empty() {
        return Err(Error::new(format!(
            "CPUs {outside}: CPUID not available: offline, or outside the {allowed} that this process may run on"
        )));
    }
    let _restore = priority::Raised::new();
    let own = pin::current().filter(|&cpu| cpus.contains(cpu));
    let mut answers = thread::scope(|scope| -> Result<Vec<CpuAnswers>, Error> {
        let others = cpus.iter().filter(|&cpu| Some(cpu) != own);
        let spawn = |cpu| {
            let builder = thread::Builder::new().name(format!("cpuid {cpu}")).stack_size(STACK_BYTES);
            let thread = builder.spawn_scoped(scope, move || {
                pin::to(cpu)?;
                ask_pinned(cpu)
            });
            thread.map_err(|error| Error::new(format!("CPU {cpu}: cannot start a thread for it: {error}")))
        };
        let threads = others.map(spawn).collect::<Result<Vec<_>, _>>()?;
        let mut answers = Vec::with_capacity(cpus.len());
        if let Some(cpu) = own {
            let _restore = pin::Pinned::to(cpu)?;
            answers.push(ask_pinned(cpu)?);
        }
        for thread in threads {
            answers.push(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(answers)
    })?;
    answers.sort_by_key(|cpu| cpu.os);
    if answers.is_empty() {
        return Err(Error::new("CPUID: no CPU to ask"));
    }
    Ok(Dump { cpus: answers })
}

/// The CPUs that the calling thread may run on, which are those that [`live`] can ask.
///
/// # Errors
/// If the operating system does not say.
pub fn allowed_cpus() -> Result<CpuSet, Error> {
    Ok(pin::allowed()?)
}

/// Asks on the CPU that the calling thread is pinned to, and makes sure that it was this one.
fn ask_pinned(cpu: u32) -> Result<CpuAnswers, Error> {
    pin::verify(cpu)?;
    let answers = ask::ask(cpu, |leaf, subleaf| Ok(instruction::cpuid(leaf, subleaf)))?;
    pin::verify(cpu)?;
    Ok(answers)
}
