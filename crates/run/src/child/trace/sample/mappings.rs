//! What lies in the memory of another process: files, its heap, threads' stacks.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use libc::pid_t;

use crate::go::is_go;
use crate::mapped::{Mapping, Module, of_file};

/// Mappings are not read again before.
const OFTEN: Duration = Duration::from_millis(100);
/// Between these addresses, the kernel maps only what a program asks to lie there, as Go does for its heap.
const CHOSEN: Range<u64> = 1 << 32..0x5500_0000_0000;

/// The mappings of a process, as they were when they were read last.
#[derive(Debug)]
pub(super) struct Mappings {
    all: Vec<Mapping>,
    read: Option<Instant>,
    /// What was told already.
    told: BTreeSet<Module>,
    /// Where its files lie, if it has mounts of its own.
    root: Option<Root>,
    /// Whether the program is one in Go.
    is_go: bool,
}

/// The root folder of a process with mounts of its own, as in a container. It stays open for as long as the files may be
/// asked for, as the process may end meanwhile.
#[derive(Debug, Clone)]
pub(super) struct Root {
    pub(super) folder: Arc<File>,
    /// What its paths begin with in this process.
    path: Vec<u8>,
}

impl Root {
    /// `None` if it has this process's mounts, or may not be known. Paths of a process that has these, but another root
    /// folder, are told as this one has them.
    fn of(process: pid_t) -> Option<Self> {
        let mounts = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
        if mounts(&process.to_string())? == mounts("self")? {
            return None;
        }
        let folder = File::open(format!("/proc/{process}/root")).ok()?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), folder.as_raw_fd()).into_bytes();
        Some(Self { folder: Arc::new(folder), path })
    }

    /// The path of one of its files here. Memory is called by what is no path there either.
    fn with(&self, name: &[u8]) -> Vec<u8> {
        let path = [&self.path[..], name].concat();
        let is_file = fs::metadata(OsStr::from_bytes(&path)).is_ok_and(|file| file.is_file());
        if is_file { path } else { name.to_vec() }
    }
}

impl Mappings {
    /// Nothing yet.
    pub(super) fn of(process: pid_t) -> Self {
        let is_go = is_go(Path::new(&format!("/proc/{process}/exe")));
        let root = Root::of(process);
        Self { all: Vec::new(), read: None, told: BTreeSet::new(), root, is_go }
    }

    /// Whether it is time to read them again.
    pub(super) fn are_old(&self) -> bool {
        self.read.is_none_or(|read| read.elapsed() >= OFTEN)
    }

    /// Whether an address lies in one of them.
    pub(super) fn hold(&self, address: u64) -> bool {
        self.at(address).is_some()
    }

    /// Whether an address is part of a file, a program's zeros included.
    pub(super) fn is_of_file(&self, address: u64) -> bool {
        let holds = |module: &Module| (module.start..module.end).contains(&address);
        self.told.iter().any(|module| module.name.starts_with(b"/") && holds(module))
    }

    fn at(&self, address: u64) -> Option<usize> {
        let at = self.all.partition_point(|mapping| mapping.end <= address);
        self.all.get(at).is_some_and(|mapping| mapping.start <= address).then_some(at)
    }

    /// The mapping of a stack pointer, if it is a stack: the process's, or one with memory before it that nobody may touch,
    /// as every thread's has that a C library made. Go's stacks lie in its heap.
    pub(super) fn stack(&self, pointer: u64) -> Option<(u64, u64)> {
        let at = self.at(pointer)?;
        let mapping = &self.all[at];
        let before = at.checked_sub(1).map(|before| &self.all[before]);
        let is_guarded = before.is_some_and(|before| before.end == mapping.start && !before.is_accessible);
        let is_chosen = CHOSEN.contains(&mapping.start);
        (mapping.name == b"[stack]" || mapping.name.is_empty() && is_guarded && !is_chosen)
            .then_some((mapping.start, mapping.end))
    }

    /// Where its files lie, if it has mounts of its own.
    pub(super) fn root(&self) -> Option<&Root> {
        self.root.as_ref()
    }

    /// Reads them as a thread has them, and returns what was not told before. The process has none under its own number
    /// once its first thread has ended.
    pub(super) fn new_modules(&mut self, thread: pid_t) -> Vec<Module> {
        let text = fs::read(format!("/proc/{thread}/maps")).unwrap_or_default();
        self.all = text.split(|byte| *byte == b'\n').filter_map(Mapping::parsed).collect();
        if let Some(root) = &self.root {
            let files = self.all.iter_mut().filter(|mapping| mapping.name.starts_with(b"/"));
            files.for_each(|mapping| mapping.name = root.with(&mapping.name));
        }
        self.read = Some(Instant::now());
        let mut files = BTreeMap::<&[u8], Vec<&Mapping>>::new();
        let mut others = Vec::new();
        for mapping in self.all.iter().filter(|mapping| mapping.is_accessible) {
            if mapping.name.starts_with(b"/") {
                files.entry(&mapping.name).or_default().push(mapping);
            } else {
                others.extend(named(mapping, self.is_go));
            }
        }
        let files = files.into_iter().filter_map(|(path, mappings)| of_file(path, &mappings));
        let mut modules = Vec::from_iter(files);
        // A program's zeros are memory of no file, but its own.
        let is_of = |file: &Module, other: &Module| (file.start..file.end).contains(&other.start);
        others.retain(|other| !modules.iter().any(|file| is_of(file, other)));
        modules.append(&mut others);
        modules.retain(|module| self.told.insert(module.clone()));
        modules
    }
}

/// Memory that belongs to no file but has a name. Stacks are left out, as samples name them by thread.
fn named(mapping: &Mapping, is_go: bool) -> Option<Module> {
    let name: &[u8] = match &*mapping.name {
        _ if is_go && CHOSEN.contains(&mapping.start) => b"[Go's heap]",
        b"[stack]" | b"" => return None,
        name => name,
    };
    Some(Module { base: mapping.start, start: mapping.start, end: mapping.end, name: name.to_vec() })
}
