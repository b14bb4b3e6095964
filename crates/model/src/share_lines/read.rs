//! From a recording's items to a run's ticks and lines.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use coho_recording::{Access, Item, Record};

use super::memory::Memory;
use super::pattern::{Counted, Touch, evidence};
use super::{Files, InFile, LINE, Line, Object, Touched};

/// The time of the counter between two ticks, if no thread ticked twice.
const INSTANT: u64 = 2_000_000;
/// The interval of a thread's ticks if its timer was not recorded.
const EVERY_NS: u64 = 1_000_000;
/// More bytes than a path has.
const MOST_PATH: usize = 4096;
/// Ticks by which an instruction must be seen for certain: what threads do but once, as they end, is no matter.
const LEAST_CERTAIN: usize = 3;
/// Outer frames beyond which a site is not told more exactly.
const MOST_FRAMES: usize = 16;

/// A run of the program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// CPU time at instructions, in seconds, by ticks.
    pub at: BTreeMap<InFile, f64>,
    /// All of it.
    pub seconds: f64,
    /// The lines that go back and forth.
    pub lines: Vec<Line>,
    /// Touches of memory that were seen.
    pub touches: u64,
}

/// Takes the items of a recording, in its order.
#[derive(Debug)]
pub struct Reader<'a> {
    files: &'a mut Files,
    processes: BTreeMap<u32, Process>,
    /// A module whose path is being read, by process and thread.
    paths: BTreeMap<(u32, u32), (Mapped, Vec<u8>)>,
}

/// A file in memory.
#[derive(Debug, Clone, Copy)]
struct Mapped {
    base: u64,
    start: u64,
    end: u64,
    file: u32,
}

#[derive(Debug, Default)]
struct Process {
    modules: Vec<Mapped>,
    /// By their first addresses, where they end and the rank of the last thread that had them.
    stacks: BTreeMap<u64, (u64, u64)>,
    ranks: BTreeMap<u32, u64>,
    every_ns: BTreeMap<u32, u64>,
    /// When threads began and ended, as far as that was recorded.
    begun: BTreeMap<u32, u64>,
    ended: BTreeMap<u32, u64>,
    frames: BTreeMap<u32, BTreeMap<u8, u64>>,
    ticks: Vec<(u32, u64, u64)>,
    /// The last tick of each thread, by its number.
    last: BTreeMap<u32, usize>,
    events: Vec<Event>,
    /// By instruction, the threads that come to it for certain, and from which ticks.
    certain: BTreeMap<u64, BTreeSet<(u32, usize)>>,
    /// What was counted, by lines.
    counted: BTreeMap<u64, Vec<Counted>>,
}

/// An access to a line: to which allocation, by an instruction of which length, and seen at which tick.
struct Touching {
    touch: Touch,
    life: Option<usize>,
    length: u8,
    tick: usize,
}

/// What changes or touches memory.
#[derive(Debug, Clone, Copy)]
enum Event {
    Freed { time: u64, address: u64 },
    Allocated { time: u64, address: u64, bytes: u64, site: u32 },
    Touched { time: u64, tick: usize, pc: u64, length: u8, address: u64, bytes: u8, access: Access },
}

impl Event {
    /// At one time, memory ends before it begins anew, and is touched after that.
    fn order(&self) -> (u64, u8) {
        match *self {
            Self::Freed { time, .. } => (time, 0),
            Self::Allocated { time, .. } => (time, 1),
            Self::Touched { time, .. } => (time, 2),
        }
    }
}

impl<'a> Reader<'a> {
    /// Nothing yet. The files that the recording names are added to `files`.
    pub fn new(files: &'a mut Files) -> Self {
        Self { files, processes: BTreeMap::new(), paths: BTreeMap::new() }
    }

    /// Takes the next item.
    pub fn add(&mut self, item: Item) {
        let process = self.processes.entry(item.process).or_default();
        let next = process.ranks.len() as u64 + 1;
        process.ranks.entry(item.thread).or_insert(next);
        let whose = (item.process, item.thread);
        match item.record {
            Record::Tick { time, pc } => {
                let tick = process.ticks.len();
                process.last.insert(item.thread, tick);
                process.certain.entry(pc).or_default().insert((item.thread, tick));
                process.ticks.push((item.thread, time, pc));
            }
            Record::Operand { time, pc, address, bytes, access, length, is_certain, .. } => {
                let Some(&tick) = process.last.get(&item.thread) else { return };
                if is_certain {
                    process.certain.entry(pc).or_default().insert((item.thread, tick));
                }
                process.events.push(Event::Touched { time, tick, pc, length, address, bytes, access });
            }
            Record::Allocated { time, address, bytes, site } => {
                process.events.push(Event::Allocated { time, address, bytes, site });
            }
            Record::Freed { time, address } => process.events.push(Event::Freed { time, address }),
            Record::Frame { site, depth, pc } if usize::from(depth) < MOST_FRAMES => {
                process.frames.entry(site).or_default().entry(depth).or_insert(pc);
            }
            Record::Module { base, start, end } => {
                self.paths.insert(whose, (Mapped { base, start, end, file: Files::NONE }, Vec::new()));
            }
            Record::Text { length, bytes } => {
                let Some((_, path)) = self.paths.get_mut(&whose) else { return };
                path.extend(&bytes[..usize::from(length)]);
                if length < 24 || path.len() > MOST_PATH {
                    let Some((mapped, path)) = self.paths.remove(&whose) else { return };
                    let file = self.files.number(PathBuf::from(OsString::from_vec(path)));
                    process.modules.push(Mapped { file, ..mapped });
                }
            }
            Record::Stack { start, end } => {
                let rank = process.ranks[&item.thread];
                process.stacks.insert(start, (end, rank));
            }
            Record::Timer { every_ns, begun } => {
                process.every_ns.insert(item.thread, every_ns);
                process.begun.insert(item.thread, begun);
            }
            Record::End { time } => {
                process.ended.insert(item.thread, time);
            }
            Record::Counted { pc, address, bytes, access, times } => {
                let offset = address % LINE;
                let bytes = u64::from(bytes).clamp(1, LINE - offset);
                let code = InFile { file: Files::NONE, address: pc };
                let counted =
                    Counted { thread: process.ranks[&item.thread], offset, bytes, access, times, code };
                process.counted.entry(address - offset).or_default().push(counted);
            }
            Record::Frame { .. } => {}
        }
    }

    /// The run. Lines are told of if `with_lines`: on one CPU, none goes back and forth.
    pub fn done(self, with_lines: bool) -> Run {
        let mut run = Run::default();
        for mut process in self.processes.into_values() {
            process.modules.sort_by_key(|module| module.start);
            process.add_ticks(&mut run);
            let touched = process.events.iter().filter(|event| matches!(event, Event::Touched { .. }));
            run.touches += touched.count() as u64;
            if with_lines {
                process.add_lines(&mut run);
            }
        }
        run
    }
}

impl Process {
    /// The place of an address in its file; the address itself if it lies in no file.
    fn in_file(&self, address: u64) -> InFile {
        let found = self.modules.iter().rfind(|module| (module.start..module.end).contains(&address));
        found.map_or(InFile { file: Files::NONE, address }, |module| InFile {
            file: module.file,
            address: address.wrapping_sub(module.base),
        })
    }

    fn add_ticks(&self, run: &mut Run) {
        for &(thread, _, pc) in &self.ticks {
            let seconds = self.seconds(thread);
            *run.at.entry(self.in_file(pc)).or_default() += seconds;
            run.seconds += seconds;
        }
    }

    /// Whether a thread executes an instruction: what lies before the place where a thread is found may be another's
    /// way there.
    fn is_certain(&self, pc: u64, thread: u32) -> bool {
        self.certain.get(&pc).is_some_and(|ticks| {
            ticks.len() >= LEAST_CERTAIN
                && ticks.range((thread, 0)..).next().is_some_and(|(one, _)| *one == thread)
        })
    }

    /// When a thread began and ended; from the first time to the last if that was not recorded.
    fn lived(&self, thread: u32) -> (u64, u64) {
        let of = |times: &BTreeMap<u32, u64>| times.get(&thread).copied();
        (of(&self.begun).unwrap_or(0), of(&self.ended).unwrap_or(u64::MAX))
    }

    /// CPU time between two ticks of a thread.
    fn seconds(&self, thread: u32) -> f64 {
        1e-9 * *self.every_ns.get(&thread).unwrap_or(&EVERY_NS) as f64
    }

    /// The time of the counter between two ticks of a thread that is not interrupted.
    fn instant(&self) -> u64 {
        let mut last = BTreeMap::new();
        let mut gaps: Vec<u64> = self
            .ticks
            .iter()
            .filter_map(|&(thread, time, _)| Some(time.saturating_sub(last.insert(thread, time)?)))
            .collect();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 4).map_or(INSTANT, |gap| (*gap).max(1))
    }

    fn add_lines(&mut self, run: &mut Run) {
        let instant = self.instant();
        let mut events = std::mem::take(&mut self.events);
        events.sort_by_key(Event::order);
        let mut memory = Memory::default();
        let mut lines = BTreeMap::<u64, Vec<Touching>>::new();
        for event in events {
            match event {
                Event::Allocated { time, address, bytes, site } => {
                    memory.allocate(time, address, bytes, site)
                }
                Event::Freed { time, address } => memory.free(time, address),
                Event::Touched { pc, tick, .. } if !self.is_certain(pc, self.ticks[tick].0) => {}
                Event::Touched { tick, pc, length, address, bytes, access, .. } => {
                    let (thread, time, _) = self.ticks[tick];
                    let lived = self.lived(thread);
                    let (thread, code, life) = (self.ranks[&thread], self.in_file(pc), memory.at(address));
                    let mut left = u64::from(bytes).max(1);
                    let mut next = Some(address);
                    while let Some(at) = next.filter(|_| left > 0) {
                        let (offset, bytes) = (at % LINE, left.min(LINE - at % LINE));
                        let touch =
                            Touch { time, thread, lived, until: u64::MAX, offset, bytes, access, code };
                        lines.entry(at - offset).or_default().push(Touching { touch, life, length, tick });
                        left -= bytes;
                        next = at.checked_add(bytes);
                    }
                }
            }
        }
        for (address, mut touching) in lines {
            // All that one tick shows was at its time, though looking took some.
            touching.sort_by_key(|one| (one.touch.time, one.tick));
            let until = |life: Option<usize>| life.map_or(u64::MAX, |life| memory.lives()[life].until);
            let touches: Vec<Touch> =
                touching.iter().map(|one| Touch { until: until(one.life), ..one.touch }).collect();
            let mut counted = self.counted.remove(&address).unwrap_or_default();
            // Modules may be recorded after what lies in them.
            counted.iter_mut().for_each(|one| one.code = self.in_file(one.code.address));
            let Some(evidence) = evidence(&touches, instant, &counted) else { continue };
            let mine: Vec<_> =
                touching.iter().filter(|one| evidence.threads.contains(&one.touch.thread)).collect();
            let mut code = BTreeMap::<InFile, Touched>::new();
            let mut objects = BTreeSet::new();
            let mut lives = BTreeSet::new();
            for one in &mine {
                let entry = code.entry(one.touch.code).or_default();
                *entry = Touched { times: entry.times + 1, length: one.length };
                let life = one.life.map(|life| memory.lives()[life]);
                lives.extend(life.filter(|life| !life.is_of_allocator).map(|life| life.address));
                objects.insert(self.object(&memory, one.life, address, one.touch.offset));
            }
            let mut times = BTreeMap::<InFile, u64>::new();
            counted.iter().for_each(|one| *times.entry(one.code).or_default() += one.times);
            for (at, touched) in &mut code {
                touched.times = touched.times.max(times.get(at).copied().unwrap_or(0));
            }
            let mut near = BTreeMap::<InFile, f64>::new();
            for tick in mine.iter().map(|one| one.tick).collect::<BTreeSet<_>>() {
                let (thread, _, pc) = self.ticks[tick];
                *near.entry(self.in_file(pc)).or_default() += self.seconds(thread);
            }
            let objects: Vec<Object> = objects.into_iter().collect();
            run.lines.push(Line { objects, allocations: lives.len(), evidence, code, near });
        }
    }

    fn object(&self, memory: &Memory, life: Option<usize>, line: u64, offset: u64) -> Object {
        let address = line + offset;
        let stack = self.stacks.range(..=address).next_back().filter(|(_, (end, _))| address < *end);
        if let Some((_, (_, rank))) = stack {
            return Object::Stack(*rank);
        }
        if let Some(life) = life.map(|life| memory.lives()[life]) {
            if life.is_of_allocator {
                return Object::Unknown;
            }
            let frames =
                self.frames.get(&life.site).map(|frames| frames.values().map(|pc| self.in_file(*pc)));
            let frames = frames.map(Iterator::collect).unwrap_or_default();
            let offset = line.wrapping_sub(life.address) as i64;
            return Object::Allocated { frames, bytes: life.bytes, offset };
        }
        let place = self.in_file(address);
        if place.file == Files::NONE { Object::Unknown } else { Object::Global(place) }
    }
}
