//! One level of the tree, told in several forms (a list, a mask) by each of its CPUs: which sets to believe.
//!
//! A kernel's sets of a level form a partition, and each holds the CPU that tells it. A form whose sets do not is wrong
//! somewhere, so the form with the fewest such CPUs is taken; of equal ones that which divides the fewest cores, and
//! then the list. Where the CPUs of the taken form still contradict each other, the set that the most CPUs tell comes
//! first. What was not taken is recorded.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::{CpuSet, Disagreement};

/// CPUs whose statements a disagreement spells out.
const MOST_CPUS: usize = 3;

/// The set that each CPU tells; CPUs that tell the same share it.
pub(super) type Sets = BTreeMap<u32, Rc<CpuSet>>;

/// What each CPU says about one level in one form.
pub(super) struct Form {
    /// The file, as disagreements name it.
    pub(super) name: &'static str,
    /// The online CPUs that the CPU says are with it.
    pub(super) sets: Sets,
}

/// The sets of a level.
pub(super) struct Settled {
    /// A partition of the CPUs that are in any set, ordered by first CPU.
    pub(super) units: Vec<CpuSet>,
    pub(super) disagreement: Option<Disagreement>,
    /// Whether the taken form, as the kernel has it, was a partition.
    pub(super) fits: bool,
}

/// What is wrong with a form: how many CPUs' sets do not fit together, and how many cores they divide.
type Faults = (usize, usize);

/// Chooses among the forms, the preferred one first; `None` if none says anything.
pub(super) fn settle(what: &str, mut forms: Vec<Form>, cores: &[CpuSet]) -> Option<Settled> {
    forms.retain(|form| !form.sets.is_empty());
    let faults: Vec<Faults> =
        forms.iter().map(|form| (faulty(&form.sets).len(), divided(&form.sets, cores))).collect();
    let best = (0..forms.len()).min_by_key(|&form| faults[form])?;
    let between_forms = between_forms(what, &forms, &faults, best);

    let mut sets = forms[best].sets.clone();
    for form in &forms {
        for (cpu, set) in &form.sets {
            sets.entry(*cpu).or_insert_with(|| Rc::clone(set));
        }
    }
    let without_itself =
        sets.iter().find(|(cpu, set)| !set.contains(**cpu)).map(|(cpu, set)| (*cpu, set.clone()));
    for (cpu, set) in sets.iter_mut().filter(|(cpu, set)| !set.contains(**cpu)) {
        Rc::make_mut(set).insert(*cpu);
    }
    let (units, between_cpus) = partition(what, forms[best].name, &sets);
    let itself = || {
        let (cpu, set) = without_itself?;
        let said = format!("{} of CPU {cpu}: {set}", forms[best].name);
        Some(Disagreement::new(
            what,
            [said],
            "the set with the CPU itself",
            "no CPU is apart from its own unit",
        ))
    };
    let disagreement = between_forms.or(between_cpus).or_else(itself);
    Some(Settled { units, disagreement, fits: faults[best].0 == 0 })
}

/// The CPUs that a set leaves out though they tell it, or whose set another member contradicts.
fn faulty(sets: &Sets) -> CpuSet {
    let telling: CpuSet = sets.keys().copied().collect();
    let mut faulty = CpuSet::new();
    for (set, tellers) in tellers(sets) {
        if set.intersection(&telling) != tellers {
            faulty = faulty.union(&tellers);
        }
    }
    faulty
}

/// How many cores have CPUs that tell different sets.
fn divided(sets: &Sets, cores: &[CpuSet]) -> usize {
    let is_divided = |core: &&CpuSet| {
        let mut told = core.iter().filter_map(|cpu| sets.get(&cpu));
        let first = told.next();
        told.any(|set| Some(set) != first)
    };
    cores.iter().filter(|core| core.len() > 1).filter(is_divided).count()
}

/// Each set that is told, with the CPUs that tell it.
fn tellers(sets: &Sets) -> HashMap<&CpuSet, CpuSet> {
    let mut tellers = HashMap::<&CpuSet, CpuSet>::new();
    for (cpu, set) in sets {
        tellers.entry(&**set).or_default().insert(*cpu);
    }
    tellers
}

/// The forms' contradictions of each other.
fn between_forms(what: &str, forms: &[Form], faults: &[Faults], best: usize) -> Option<Disagreement> {
    let taken = &forms[best];
    let differs = |cpu: &u32| {
        let told = |form: &Form| form.sets.get(cpu).is_some_and(|set| Some(set) != taken.sets.get(cpu));
        taken.sets.contains_key(cpu) && forms.iter().any(told)
    };
    let cpus: Vec<u32> = taken.sets.keys().copied().filter(differs).collect();
    if cpus.is_empty() {
        return None;
    }
    let says = |form: &Form| {
        let shown = cpus.iter().filter_map(|cpu| Some(format!("{} (CPU {cpu})", shown(form.sets.get(cpu)?))));
        let mut said: Vec<String> = shown.take(MOST_CPUS).collect();
        said.extend(
            cpus.len().checked_sub(MOST_CPUS).filter(|more| *more > 0).map(|more| format!("{more} more")),
        );
        format!("{}: {}", form.name, said.join(", "))
    };
    let others = faults.iter().enumerate().filter(|(form, _)| *form != best);
    let (faulty, divided) = others.map(|(_, faults)| *faults).min().unwrap_or_default();
    let why = match faults[best] {
        (0, _) if faulty > 0 => "its sets form a partition and each holds its own CPU".to_owned(),
        (own, _) if own < faulty => format!("it contradicts itself on {own} CPUs, the other on {faulty}"),
        (_, own) if own < divided => format!("it divides {own} cores, the other {divided}"),
        (0, _) => "both form a partition, and lists come first".to_owned(),
        _ => "both contradict themselves on as many CPUs, and lists come first".to_owned(),
    };
    Some(Disagreement::new(what, forms.iter().map(says), taken.name, why))
}

fn shown(set: &CpuSet) -> String {
    if set.is_empty() { "no CPU".to_owned() } else { set.to_string() }
}

/// Makes a partition of what the CPUs say, and reports the first contradiction between them.
fn partition(what: &str, name: &str, sets: &Sets) -> (Vec<CpuSet>, Option<Disagreement>) {
    let mut told: Vec<(&CpuSet, CpuSet)> = tellers(sets).into_iter().collect();
    told.sort_by(|(a, a_told), (b, b_told)| (b_told.len(), a.len(), a).cmp(&(a_told.len(), b.len(), b)));
    let mut units = Vec::<CpuSet>::new();
    let mut disagreement = None;
    let mut taken = CpuSet::new();
    for (set, tellers) in told {
        let free = set.difference(&taken);
        if free != *set && disagreement.is_none() {
            let other = units.iter().find(|unit| unit.intersects(set)).cloned().unwrap_or_default();
            let teller = tellers.first().unwrap_or_default();
            let said = [
                format!("{name} of CPU {}: {other}", other.first().unwrap_or_default()),
                format!("{name} of CPU {teller}: {set}"),
            ];
            disagreement =
                Some(Disagreement::new(what, said, other.to_string(), "at least as many CPUs tell it"));
        }
        if !free.is_empty() {
            taken = taken.union(&free);
            units.push(free);
        }
    }
    units.sort();
    (units, disagreement)
}
