//! Caches, from every CPU's `cache/indexN` directories.

use std::collections::HashMap;

use super::Reading;
use super::files::Dir;
use crate::{Cache, CacheKind, Claim, CpuSet, Disagreement, Error, Level, Source};

/// More index directories than any CPU has.
const MAX_INDEX: u32 = 16;

/// Reads the caches; size, line and ways only where a cache is met first.
pub(super) fn read(reading: &mut Reading, cpus: &[(u32, Dir)], online: &CpuSet) -> Result<(), Error> {
    let mut caches: Vec<Cache> = Vec::new();
    // Which cache of a level and kind holds a CPU.
    let mut cache_of: HashMap<(u8, CacheKind, u32), usize> = HashMap::new();
    let mut contradictions: Vec<Disagreement> = Vec::new();
    for (cpu, dir) in cpus {
        let dir = dir.sub("cache");
        for index in 0..MAX_INDEX {
            let dir = dir.sub(&format!("index{index}"));
            let Some(level) = dir.number::<u8>("level")? else { break };
            if !(1..=4).contains(&level) {
                return Err(
                    Error::new(format!("no machine has a level {level} cache")).in_file(&dir.path("level"))
                );
            }
            let kind = kind(&dir)?;
            let mut sharers = dir.cpu_list("shared_cpu_list")?.unwrap_or_default().intersection(online);
            sharers.insert(*cpu);
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
                size_bytes: size(&dir)?,
                line_bytes: dir.number("coherency_line_size")?,
                ways: dir.number("ways_of_associativity")?,
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

fn kind(dir: &Dir) -> Result<CacheKind, Error> {
    match dir.text("type")?.as_deref() {
        Some("Data") => Ok(CacheKind::Data),
        Some("Instruction") => Ok(CacheKind::Instruction),
        Some("Unified") | None => Ok(CacheKind::Unified),
        Some(other) => {
            let start: String = other.chars().take(40).collect();
            Err(Error::new(format!("'{start}' is no type of cache")).in_file(&dir.path("type")))
        }
    }
}

/// `32K`, `8M` or plain bytes; 0 where the kernel does not tell.
fn size(dir: &Dir) -> Result<u64, Error> {
    let Some(text) = dir.text("size")? else { return Ok(0) };
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M') => (&text[..text.len() - 1], 1 << 20),
        Some(b'G') => (&text[..text.len() - 1], 1 << 30),
        _ => (text.as_str(), 1),
    };
    digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).ok_or_else(|| {
        let start: String = text.chars().take(40).collect();
        Error::new(format!("'{start}' is no size")).in_file(&dir.path("size"))
    })
}
