//! Units found by each CPU's set of siblings.

use std::collections::BTreeMap;

use super::Reading;
use crate::{Claim, CpuSet, Disagreement, Error, Level, Source, Unit};

/// Collects the sets CPU by CPU. If two contradict each other, the lower-numbered CPU's is believed.
#[derive(Default)]
pub(super) struct Siblings {
    units: Vec<Unit>,
    /// The unit of each CPU met so far.
    unit_of: BTreeMap<u32, usize>,
    /// Whether any CPU has listed its siblings.
    pub(super) told: bool,
    /// The first contradiction: what was believed, and what a later CPU said instead.
    contradiction: Option<(CpuSet, CpuSet)>,
}

impl Siblings {
    pub(super) fn add(&mut self, cpu: u32, id: Option<u32>, siblings: Option<CpuSet>, online: &CpuSet) {
        self.told |= siblings.is_some();
        let mut siblings = siblings.unwrap_or_default().intersection(online);
        siblings.insert(cpu);
        if let Some(&unit) = self.unit_of.get(&cpu) {
            if self.units[unit].cpus != siblings && self.contradiction.is_none() {
                self.contradiction = Some((self.units[unit].cpus.clone(), siblings));
            }
            return;
        }
        let free: CpuSet = siblings.iter().filter(|sibling| !self.unit_of.contains_key(sibling)).collect();
        if free != siblings && self.contradiction.is_none() {
            self.contradiction = Some((free.clone(), siblings));
        }
        self.unit_of.extend(free.iter().map(|sibling| (sibling, self.units.len())));
        self.units.push(Unit { id, cpus: free });
    }

    /// The units, and the contradiction as one of their level.
    pub(super) fn finish(
        mut self,
        reading: &mut Reading,
        level: Level,
    ) -> Result<(Vec<Unit>, Option<Disagreement>), Error> {
        for unit in &self.units {
            reading.budget.charge(&unit.cpus)?;
        }
        self.units.sort_by(|a, b| a.cpus.cmp(&b.cpus));
        let claim = |cpus: CpuSet| Claim { source: Source::Sysfs, says: cpus.to_string() };
        let disagreement = self
            .contradiction
            .map(|(believed, other)| Disagreement { level, claims: vec![claim(believed), claim(other)] });
        Ok((self.units, disagreement))
    }
}

/// Units found by ids: CPUs with equal keys, whose last part is the unit's own id.
pub(super) fn by_id<K: Ord>(
    reading: &mut Reading,
    ids: impl IntoIterator<Item = (u32, K)>,
    own: fn(&K) -> u32,
) -> Result<Vec<Unit>, Error> {
    let mut groups = BTreeMap::<K, CpuSet>::new();
    for (cpu, key) in ids {
        groups.entry(key).or_default().insert(cpu);
    }
    let mut units = Vec::new();
    for (key, cpus) in groups {
        reading.budget.charge(&cpus)?;
        units.push(Unit { id: Some(own(&key)), cpus });
    }
    units.sort_by(|a, b| a.cpus.cmp(&b.cpus));
    Ok(units)
}
