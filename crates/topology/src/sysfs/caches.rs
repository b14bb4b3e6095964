//! Caches, from every CPU's `cache/indexN` directories.

use std::collections::{BTreeMap, BTreeSet};

use super::Reading;
use super::claims::settle;
use super::files::{Dir, Told, short};
use super::units::{CORE_LISTS, CORE_MAPS};
use crate::{Cache, CacheKind, CpuSet, Error, Level};

/// More index directories than any CPU has.
const MAX_INDEX: u32 = 32;

/// One level of caches for one kind of accesses, as its CPUs describe it.
#[derive(Default)]
struct Described<'a> {
    sharers: Vec<(u32, Told)>,
    /// Where each CPU's cache is described.
    dirs: BTreeMap<u32, Dir<'a>>,
}

/// Reads the caches; size, line and ways of each as its first CPU has them.
pub(super) fn read(
    reading: &mut Reading,
    cpus: &[(u32, Dir<'_>)],
    cores: &[CpuSet],
    online: &CpuSet,
) -> Result<(), Error> {
    let mut caches = Vec::new();
    for ((number, kind), described) in described(cpus) {
        let level = level_of(number);
        let names = ["shared_cpu_list", "shared_cpu_map"];
        let forms = reading.forms(described.sharers, names, online)?;
        let Some(settled) = settle(&level.to_string(), forms, cores) else { continue };
        reading.contradict(settled.disagreement);
        for cpus in settled.units {
            reading.budget.charge(&cpus)?;
            let Some(dir) = cpus.iter().find_map(|cpu| described.dirs.get(&cpu)) else { continue };
            caches.push(Cache {
                level: number,
                kind,
                size_bytes: size(dir),
                line_bytes: dir.number("coherency_line_size").filter(|bytes| *bytes > 0),
                ways: ways(dir),
                cpus,
            });
        }
    }
    let levels: BTreeSet<u8> = caches.iter().map(|cache: &Cache| cache.level).collect();
    for level in levels {
        reading.tell(level_of(level), "cache/index*/shared_cpu_list");
    }
    reading.topology.caches = caches;
    Ok(())
}

/// The caches of each level and kind. Of two that a CPU describes, the first counts.
fn described<'a>(cpus: &[(u32, Dir<'a>)]) -> BTreeMap<(u8, CacheKind), Described<'a>> {
    let mut all = BTreeMap::<(u8, CacheKind), Described<'a>>::new();
    for (cpu, cpu_dir) in cpus {
        let dir = cpu_dir.sub("cache");
        for index in dir.numbered("index", MAX_INDEX) {
            let dir = dir.sub(&format!("index{index}"));
            let (Some(level), Some(kind)) = (level(&dir), kind(&dir)) else { continue };
            let same = all.entry((level, kind)).or_default();
            if same.dirs.contains_key(cpu) {
                continue;
            }
            if let Some(told) = sharers(*cpu, cpu_dir, &dir) {
                same.sharers.push((*cpu, told));
                same.dirs.insert(*cpu, dir);
            }
        }
    }
    all
}

/// The CPUs that share a cache; `None` if they are not reported, as a cache with unknown sharers must not be taken for
/// a private one.
fn sharers(cpu: u32, cpu_dir: &Dir<'_>, dir: &Dir<'_>) -> Option<Told> {
    let told = dir.told(&["shared_cpu_list"], &["shared_cpu_map"]);
    if told.is_unknown() {
        dir.note("shared_cpu_list", "does not say which CPUs share the cache: left out");
        return None;
    }
    let told = told.unless_empty();
    if !told.is_unknown() {
        return Some(told);
    }
    // Old kernels on Itanium report no sharers for some caches: these belong to the core.
    let core = cpu_dir.sub("topology").cpus(&CORE_LISTS, &CORE_MAPS).unwrap_or_default();
    Some(Told { list: Some(core.union(&CpuSet::from_iter([cpu]))), map: None })
}

fn level_of(number: u8) -> Level {
    match number {
        1 => Level::L1,
        2 => Level::L2,
        3 => Level::L3,
        _ => Level::L4,
    }
}

fn level(dir: &Dir<'_>) -> Option<u8> {
    let level = dir.number::<u8>("level")?;
    if !(1..=4).contains(&level) {
        dir.note("level", format!("no machine has a level {level} cache"));
        return None;
    }
    Some(level)
}

/// A cache without a type holds at least data.
fn kind(dir: &Dir<'_>) -> Option<CacheKind> {
    match dir.text("type").as_deref() {
        Some("Data") => Some(CacheKind::Data),
        Some("Instruction") => Some(CacheKind::Instruction),
        Some("Unified") | None => Some(CacheKind::Unified),
        Some(other) => {
            dir.note("type", format!("'{}' is not a cache type", short(other)));
            None
        }
    }
}

/// `32K`, `8M` or plain bytes; 0 if the kernel does not say.
fn size(dir: &Dir<'_>) -> u64 {
    let Some(text) = dir.text("size") else { return 0 };
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M') => (&text[..text.len() - 1], 1 << 20),
        Some(b'G') => (&text[..text.len() - 1], 1 << 30),
        _ => (text.as_str(), 1),
    };
    let size = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    size.unwrap_or_else(|| {
        dir.note("size", format!("'{}' is not a size", short(&text)));
        0
    })
}

/// For a fully associative cache the file says 0, -1 or 65535, depending on the architecture.
fn ways(dir: &Dir<'_>) -> Option<u32> {
    match dir.number::<i64>("ways_of_associativity")? {
        -1 | 0xFFFF => Some(0),
        ways => u32::try_from(ways).ok(),
    }
}
