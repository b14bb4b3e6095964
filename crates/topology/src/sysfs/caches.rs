//! Caches, from every CPU's `cache/indexN` directories.

use std::collections::HashMap;

use super::Reading;
use super::files::{Cpus, Dir, short};
use super::units::CORE_CPUS;
use crate::{Cache, CacheKind, Claim, CpuSet, Disagreement, Error, Level, Source};

/// More index directories than any CPU has.
const MAX_INDEX: u32 = 32;

/// Reads the caches; size, line and ways only the first time that a cache is met.
pub(super) fn read(reading: &mut Reading, cpus: &[(u32, Dir<'_>)], online: &CpuSet) -> Result<(), Error> {
    let mut caches: Vec<Cache> = Vec::new();
    // Which cache of a level and kind a CPU belongs to.
    let mut cache_of: HashMap<(u8, CacheKind, u32), usize> = HashMap::new();
    let mut contradictions: Vec<Disagreement> = Vec::new();
    for (cpu, cpu_dir) in cpus {
        let dir = cpu_dir.sub("cache");
        for index in dir.numbered("index", MAX_INDEX) {
            let dir = dir.sub(&format!("index{index}"));
            let (Some(level), Some(kind)) = (level(&dir), kind(&dir)) else { continue };
            let Some(sharers) = sharers(*cpu, cpu_dir, &dir, online) else { continue };
            if let Some(&known) = cache_of.get(&(level, kind, *cpu)) {
                if caches[known].cpus != sharers {
                    contradict(&mut contradictions, level, &caches[known].cpus, &sharers);
                }
                continue;
            }
            let free: CpuSet =
                sharers.iter().filter(|sharer| !cache_of.contains_key(&(level, kind, *sharer))).collect();
            if free != sharers {
                contradict(&mut contradictions, level, &free, &sharers);
            }
            cache_of.extend(free.iter().map(|sharer| ((level, kind, sharer), caches.len())));
            reading.budget.charge(&free)?;
            caches.push(Cache {
                level,
                kind,
                size_bytes: size(&dir),
                line_bytes: dir.number("coherency_line_size").filter(|bytes| *bytes > 0),
                ways: ways(&dir),
                cpus: free,
            });
        }
    }
    for (number, level) in [(1, Level::L1), (2, Level::L2), (3, Level::L3), (4, Level::L4)] {
        if caches.iter().any(|cache| cache.level == number) {
            reading.tell(level, "cache/index*/shared_cpu_list");
        }
    }
    caches.sort_by(|a, b| (a.level, a.kind, &a.cpus).cmp(&(b.level, b.kind, &b.cpus)));
    reading.topology.caches = caches;
    reading.topology.disagreements.extend(contradictions);
    Ok(())
}

/// The online CPUs that share a cache; `None` if they are not reported, as a cache with unknown sharers must not be
/// taken for a private one.
fn sharers(cpu: u32, cpu_dir: &Dir<'_>, dir: &Dir<'_>, online: &CpuSet) -> Option<CpuSet> {
    let Some(listed) = dir.cpus(&[Cpus::List("shared_cpu_list"), Cpus::Map("shared_cpu_map")]) else {
        dir.note("shared_cpu_list", "does not say which CPUs share the cache: left out");
        return None;
    };
    // Old kernels on Itanium report no sharers for some caches: these belong to the core.
    let listed =
        if listed.is_empty() { cpu_dir.sub("topology").cpus(&CORE_CPUS).unwrap_or_default() } else { listed };
    let mut sharers = listed.intersection(online);
    sharers.insert(cpu);
    Some(sharers)
}

/// Reports the first contradiction of a level.
fn contradict(found: &mut Vec<Disagreement>, level: u8, believed: &CpuSet, other: &CpuSet) {
    let level = match level {
        1 => Level::L1,
        2 => Level::L2,
        3 => Level::L3,
        _ => Level::L4,
    };
    if found.iter().all(|known| known.level != level) {
        let claim = |cpus: &CpuSet| Claim { source: Source::Sysfs, says: cpus.to_string() };
        found.push(Disagreement { level, claims: vec![claim(believed), claim(other)] });
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
