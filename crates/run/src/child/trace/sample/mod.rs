//! Samples the threads of a traced program: each that has used CPU time since the last tick and runs is stopped for a
//! moment, and the memory is recorded that its next instructions name.
//!
//! Nothing is stepped: a thread that is stopped after a step gets the step's signal if coho is killed meanwhile. A thread
//! that sleeps is not stopped either: some system calls would then end early.

mod clock;
mod mappings;
mod together;

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use coho_operands::{Follower, ProcessMemory, Registers};
use coho_recording::{Item, Record, every_ns};
use libc::pid_t;

use super::{Samples, request};
use clock::Clock;
use mappings::Mappings;
use together::Together;

/// Items that are kept of a run, as many as a recording's file holds.
const MOST_ITEMS: usize = 4 << 20;
/// The selector of 64-bit code.
const CODE_64: u64 = 0x33;

/// Samples the threads of one process.
#[derive(Debug)]
pub(super) struct Sampler {
    process: pid_t,
    /// Tells the programs apart that the process executes.
    number: u32,
    every: Duration,
    next: Instant,
    threads: BTreeMap<pid_t, Thread>,
    mappings: Mappings,
    follower: Follower,
    samples: Samples,
    /// How many of the samples' items are of programs that the process no longer executes.
    of_earlier: usize,
    ticks: u64,
    together: Together,
}

#[derive(Debug)]
struct Thread {
    clock: Clock,
    /// When sampling of it began.
    begun: u64,
    /// Its CPU time as sampling began, and at the last sample.
    begun_ns: u64,
    sampled_ns: u64,
    samples: u64,
    is_interrupted: bool,
}

/// Why a traced program's threads cannot be sampled; `None` if they can.
pub fn why_no_samples() -> Option<&'static str> {
    let is_told = Clock::of(std::process::id() as pid_t).is_some_and(|clock| clock.ns().is_some());
    (!is_told).then_some("not available: the kernel does not tell threads' CPU time in schedstat")
}

impl Sampler {
    /// For a process that is traced and has one thread.
    pub(super) fn begin(process: pid_t) -> io::Result<Self> {
        let mut sampler = Self {
            process,
            number: process as u32,
            every: Duration::from_nanos(every_ns()),
            next: Instant::now(),
            threads: BTreeMap::new(),
            mappings: Mappings::of(process),
            follower: Follower::default(),
            samples: Samples::default(),
            of_earlier: 0,
            ticks: 0,
            together: Together::default(),
        };
        sampler.keep_root();
        sampler.add(process);
        Ok(sampler)
    }

    /// A thread begins.
    pub(super) fn add(&mut self, thread: pid_t) {
        let Some(clock) = Clock::of(thread) else { return };
        let Some(begun_ns) = clock.ns() else { return };
        let of = Thread {
            clock,
            begun: time(),
            begun_ns,
            sampled_ns: begun_ns,
            samples: 0,
            is_interrupted: false,
        };
        self.threads.insert(thread, of);
    }

    /// A thread has ended, and was not waited for.
    pub(super) fn end(&mut self, thread: pid_t) {
        let Some(its) = self.threads.remove(&thread) else { return };
        let used_ns = its.clock.ns().unwrap_or(its.sampled_ns) - its.begun_ns;
        if let Some(every_ns) = used_ns.checked_div(its.samples) {
            self.write(thread, Record::Timer { every_ns, begun: its.begun });
            self.write(thread, Record::End { time: time() });
        }
    }

    /// The process executes another program.
    pub(super) fn begin_anew(&mut self) {
        self.end_all();
        self.number += 1;
        self.mappings = Mappings::of(self.process);
        self.keep_root();
        self.add(self.process);
    }

    /// Whoever looks at the samples later looks at the files that they name.
    fn keep_root(&mut self) {
        self.samples.roots.extend(self.mappings.root().map(|root| root.folder.clone()));
    }

    fn end_all(&mut self) {
        for thread in Vec::from_iter(self.threads.keys().copied()) {
            self.end(thread);
        }
        let together = std::mem::take(&mut self.together);
        let mut items = self.samples.items.split_off(self.of_earlier);
        items.retain(|item| match item.record {
            Record::Operand { address, .. } => together.may_tell(address),
            _ => true,
        });
        self.samples.items.append(&mut items);
        self.of_earlier = self.samples.items.len();
    }

    /// What was sampled, once: no thread is sampled any more.
    pub(super) fn samples(&mut self) -> Samples {
        self.end_all();
        std::mem::take(&mut self.samples)
    }

    /// If it is time, has threads stop that are to be sampled. Returns how long it is until the next time.
    pub(super) fn tick(&mut self) -> Duration {
        let now = Instant::now();
        if now >= self.next {
            self.next = now.max(self.next + self.every);
            self.ticks += 1;
            let least_ns = self.every.as_nanos() as u64 / 2;
            for (&thread, its) in self.threads.iter_mut().filter(|(_, its)| !its.is_interrupted) {
                let Some(ns) = its.clock.ns() else { continue };
                if ns.saturating_sub(its.sampled_ns) >= least_ns && clock::is_running(thread) {
                    its.is_interrupted = request::interrupt(thread).is_ok();
                    its.sampled_ns = ns;
                }
            }
        }
        self.next.saturating_duration_since(now)
    }

    /// A thread is stopped: whether that was asked for.
    pub(super) fn is_stopped(&mut self, thread: pid_t) -> bool {
        self.threads.get_mut(&thread).is_some_and(|its| std::mem::take(&mut its.is_interrupted))
    }

    /// Records a thread that is stopped.
    pub(super) fn sample(&mut self, thread: pid_t) -> io::Result<()> {
        let values = request::registers(thread)?;
        let Some(its) = self.threads.get_mut(&thread).filter(|_| values.cs == CODE_64) else {
            return Ok(());
        };
        its.samples += 1;
        if its.samples == 1 {
            self.look_at_mappings(thread);
            if let Some((start, end)) = self.mappings.stack(values.rsp) {
                self.write(thread, Record::Stack { start, end });
            }
        }
        let time = time();
        self.write(thread, Record::Tick { time, pc: values.rip });
        let mut operands = Vec::new();
        let mut memory = ProcessMemory::of(thread as u32);
        let registers = registers(&values);
        self.follower.look_behind(&registers, values.rip, &mut memory, |operand| operands.push(operand));
        self.follower.follow(registers, values.rip, &mut memory, |_| true, |operand| operands.push(operand));
        for operand in operands {
            if !self.mappings.hold(operand.address) && self.mappings.are_old() {
                self.look_at_mappings(thread);
            }
            if !self.mappings.is_of_file(operand.address) {
                self.together.touch(operand.address, self.ticks, thread);
            }
            self.write(thread, operand.record(time));
        }
        Ok(())
    }

    /// Records what has been mapped into the process's memory since it was looked at last.
    fn look_at_mappings(&mut self, thread: pid_t) {
        for module in self.mappings.new_modules(thread) {
            self.write(thread, Record::Module { base: module.base, start: module.start, end: module.end });
            for text in Record::texts(&module.name) {
                self.write(thread, text);
            }
        }
    }

    fn write(&mut self, thread: pid_t, record: Record) {
        if self.samples.items.len() < MOST_ITEMS {
            self.samples.items.push(Item { process: self.number, thread: thread as u32, record });
        } else {
            self.samples.lost += 1;
        }
    }
}

/// When, by the time-stamp counter.
fn time() -> u64 {
    // SAFETY: every x86-64 CPU has the counter; a process that has forbidden itself to read it does not get here.
    unsafe { std::arch::x86_64::_rdtsc() }
}

fn registers(values: &libc::user_regs_struct) -> Registers {
    let v = values;
    let general = [
        v.rax, v.rcx, v.rdx, v.rbx, v.rsp, v.rbp, v.rsi, v.rdi, v.r8, v.r9, v.r10, v.r11, v.r12, v.r13,
        v.r14, v.r15,
    ];
    Registers::new(general, v.fs_base)
}
