//! Whether a machine that is measured now is as its group is.

use std::collections::{BTreeMap, BTreeSet};

use coho_profile::{Better, Profile, SECTIONS};
use serde::Serialize;

use super::learn::FEWEST;
use super::limits::{Differing, FigureLimits, GroupLimits, Limit};
use super::outlier::{Value, shown};
use super::row::{Row, rows};
use crate::chance::BETWEEN_RUNS;
use crate::words::{interval, number};

/// What a machine is, beside its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// Every figure is where the group's usually are.
    #[serde(rename = "fit")]
    Fit,
    /// A fact is another than the group's, or a figure is where none of the group's is, each time that it is measured.
    #[serde(rename = "odd")]
    Odd,
    /// The figures do not tell, or there is nothing to compare them with.
    #[serde(rename = "cannot tell")]
    CannotTell,
}

/// A machine beside its group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    /// What it is.
    pub verdict: Verdict,
    /// What was compared: what is odd first.
    pub figures: Vec<CheckedFigure>,
    /// How long it took.
    pub seconds: f64,
    /// Why, in a line.
    #[serde(skip)]
    pub why: String,
}

/// A figure or a fact beside its group's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedFigure {
    /// Key and parameters of a figure, a fact's name.
    pub key: String,
    /// What the machine has now.
    pub value: Value,
    /// Where the mode of the group's that is nearest begins; what the group has of a fact.
    pub group_low: Value,
    /// Where it ends.
    pub group_high: Value,
}

/// Where a figure lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lies {
    /// Where none of the group's does, on the worse side if there is one.
    Odd,
    /// Where none does, on the better side.
    Better,
    /// In a mode in which the group's seldom is.
    Elsewhere,
    Usual,
}

/// Compares a machine with its group, as often as it is measured.
#[derive(Debug)]
pub struct Checker<'a> {
    group: &'a GroupLimits,
    seen: BTreeMap<String, Seen<'a>>,
    /// What disturbed the measurement of a section lately.
    disturbed: BTreeMap<&'static str, String>,
}

/// A figure, as it was when it was least odd.
#[derive(Debug)]
struct Seen<'a> {
    lies: Lies,
    value: f64,
    limits: &'a FigureLimits,
    unit: &'static str,
    /// How often it was measured.
    times: usize,
}

impl<'a> Checker<'a> {
    /// Nothing is measured yet.
    pub fn new(group: &'a GroupLimits) -> Self {
        Self { group, seen: BTreeMap::new(), disturbed: BTreeMap::new() }
    }

    /// The sections whose figures have limits, those with the most first.
    pub fn sections(&self) -> Vec<&'static str> {
        let has = |name: &str| self.group.figures.iter().filter(|one| section_of(&one.key) == name).count();
        let mut all: Vec<(&str, usize)> =
            SECTIONS.iter().map(|listed| (listed.name, has(listed.name))).filter(|(_, n)| *n > 0).collect();
        all.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        all.into_iter().map(|(name, _)| name).collect()
    }

    /// The keys of a section's figures.
    pub fn keys(&self, section: &str) -> Vec<String> {
        let keys: BTreeSet<&str> = self.group.figures.iter().map(|one| one.key.as_str()).collect();
        keys.into_iter().filter(|key| section_of(key) == section).map(str::to_owned).collect()
    }

    /// Adds what was measured now. A figure that was measured before is as odd as it was when it was least so.
    pub fn add(&mut self, measured: &Profile) {
        let all = rows(measured);
        let mut disturbed = BTreeMap::new();
        for row in &all {
            let section = SECTIONS.iter().find(|listed| listed.name == section_of(row.key));
            let Some(section) = section.map(|listed| listed.name) else { continue };
            disturbed.insert(section, row.disturbed.clone());
        }
        self.disturbed.retain(|section, _| !disturbed.contains_key(section));
        self.disturbed.extend(disturbed.into_iter().filter(|(_, what)| !what.is_empty()));
        let usable: Vec<&Row> =
            all.iter().filter(|row| row.value > 0.0 && row.disturbed.is_empty()).collect();
        for limits in &self.group.figures {
            let mut of_key = usable.iter().filter(|row| row.key == limits.key).peekable();
            let Some(better) = of_key.peek().map(|row| row.quantity.better) else { continue };
            let (now, unit) = if limits.medians.is_empty() {
                let Some(row) = of_key.find(|row| row.parameters == limits.parameters) else { continue };
                let ends = (row.low.min(row.value) / BETWEEN_RUNS, row.high.max(row.value) * BETWEEN_RUNS);
                (Now { value: row.value, ends, better }, row.unit)
            } else {
                let named = of_key.map(|row| (row.parameters.as_str(), row.value));
                let Some(value) = limits.together(named) else { continue };
                (Now { value, ends: (value / BETWEEN_RUNS, value * BETWEEN_RUNS), better }, "× the usual")
            };
            let lies = lies(&now, limits);
            let first = Seen { lies, value: now.value, limits, unit, times: 0 };
            let seen = self.seen.entry(name_of(limits)).or_insert(first);
            seen.times += 1;
            if lies > seen.lies {
                (seen.lies, seen.value) = (lies, now.value);
            }
        }
    }

    /// The sections that have to be measured again before anything is told: those with a figure that looks odd, or that
    /// something disturbed.
    pub fn open(&self) -> BTreeSet<&str> {
        let odd = self.seen.values().filter(|seen| seen.lies < Lies::Elsewhere);
        odd.map(|seen| section_of(&seen.limits.key)).chain(self.disturbed.keys().copied()).collect()
    }

    /// The answer. A figure that is called odd was so each time that it was measured, at least twice.
    pub fn answer(self) -> Checked {
        let mut all: Vec<(String, Seen<'_>)> = self.seen.into_iter().collect();
        // All figures of a key together say more than any one of them.
        all.sort_by_key(|(_, seen)| {
            (seen.lies, seen.times < 2, seen.limits.medians.is_empty(), std::cmp::Reverse(seen.times))
        });
        let compared: BTreeSet<&str> = all.iter().map(|(_, seen)| section_of(&seen.limits.key)).collect();
        let odd = all.iter().filter(|(_, seen)| seen.lies == Lies::Odd && seen.times > 1).count();
        let (verdict, why) = match (self.disturbed.into_values().next(), all.first()) {
            (Some(disturbed), _) => (Verdict::CannotTell, disturbed),
            (None, Some((key, seen))) if seen.lies != Lies::Usual => {
                let words = seen.words(key);
                match seen.lies {
                    Lies::Odd if odd > 1 => (Verdict::Odd, format!("{words}; {} more are odd", odd - 1)),
                    Lies::Odd if odd > 0 => (Verdict::Odd, words),
                    Lies::Odd => {
                        (Verdict::CannotTell, format!("{words}, but there was no time to measure it again"))
                    }
                    Lies::Better => (Verdict::CannotTell, format!("{words}, so it is better than any")),
                    _ => (
                        Verdict::CannotTell,
                        format!("{words}; within its uncertainty, some of its group are there at times"),
                    ),
                }
            }
            (None, Some(_)) if compared.len() > 1 || !compared.contains("host") => (
                Verdict::Fit,
                format!(
                    "{} figures are where its group's are, as {} surveys show them",
                    all.len(),
                    self.group.surveys
                ),
            ),
            _ => (Verdict::CannotTell, "no figure of its group could be measured".into()),
        };
        let figures = all.iter().map(|(key, seen)| seen.figure(key)).collect();
        Checked { verdict, figures, seconds: 0.0, why }
    }
}

impl Seen<'_> {
    fn figure(&self, key: &str) -> CheckedFigure {
        let nearest = nearest(self.value, self.limits);
        CheckedFigure {
            key: key.to_owned(),
            value: Value::Number(self.value),
            group_low: Value::Number(nearest.low),
            group_high: Value::Number(nearest.high),
        }
    }

    /// `memory.rate op=read bytes=512 is 14.0 GB/s; its group has 26.1–29.9`.
    fn words(&self, key: &str) -> String {
        let (unit, per_unit) = shown(self.unit);
        let modes = self.limits.modes.iter();
        let modes: Vec<String> =
            modes.map(|limit| interval(limit.low * per_unit, limit.high * per_unit)).collect();
        format!("{key} is {}{unit}; its group has {}", number(self.value * per_unit), modes.join(" or "))
    }
}

impl GroupLimits {
    /// Why there are no limits for its figures; `None` if there are.
    pub fn too_few(&self) -> Option<String> {
        self.figures.is_empty().then(|| {
            format!(
                "limits take {FEWEST} surveys that nothing disturbed and that have the same figure; its group was learned from {}",
                self.surveys
            )
        })
    }
}

impl Checked {
    /// That nothing can be told, and why.
    pub fn cannot_tell(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::CannotTell, figures: Vec::new(), seconds: 0.0, why: why.into() }
    }

    /// That facts are others than the group's.
    pub fn differs(group: &GroupLimits, differing: &[Differing]) -> Self {
        let figure = |one: &Differing| CheckedFigure {
            key: one.name.into(),
            value: Value::Text(one.has.clone()),
            group_low: Value::Text(one.group.clone()),
            group_high: Value::Text(one.group.clone()),
        };
        let words = differing.iter().map(|one| {
            let (has, group) = one.apart();
            format!("{} is {has}; its group has {group}", super::outlier::spoken(one.name))
        });
        let why = format!("{} (surveys: {})", words.collect::<Vec<_>>().join("; "), group.surveys);
        Self { verdict: Verdict::Odd, figures: differing.iter().map(figure).collect(), seconds: 0.0, why }
    }
}

fn section_of(key: &str) -> &str {
    key.split('.').next().unwrap_or_default()
}

fn name_of(limits: &FigureLimits) -> String {
    let space = if limits.parameters.is_empty() { "" } else { " " };
    format!("{}{space}{}", limits.key, limits.parameters)
}

/// A figure as it is now.
struct Now {
    value: f64,
    /// Between which it may lie.
    ends: (f64, f64),
    better: Better,
}

fn lies(now: &Now, limits: &FigureLimits) -> Lies {
    let meets = |limit: &&Limit| now.ends.0 <= limit.high && now.ends.1 >= limit.low;
    let meets = limits.modes.iter().filter(meets).map(|limit| limit.surveys).max();
    match (meets, now.better) {
        (Some(surveys), _) if limits.is_usual(surveys) => Lies::Usual,
        (Some(_), _) => Lies::Elsewhere,
        (None, Better::Lower) if limits.modes.iter().all(|limit| now.value < limit.low) => Lies::Better,
        (None, Better::Higher) if limits.modes.iter().all(|limit| now.value > limit.high) => Lies::Better,
        (None, _) => Lies::Odd,
    }
}

/// The mode that is nearest.
fn nearest(value: f64, limits: &FigureLimits) -> Limit {
    let off = |limit: &Limit| (limit.low / value).max(value / limit.high);
    let nearest = limits.modes.iter().min_by(|one, other| off(one).total_cmp(&off(other)));
    nearest.copied().unwrap_or(Limit { low: value, high: value, surveys: 0 })
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, Host, Memory, MemoryLatency, Method};

    use super::super::{Fleet, GROUPED, Limits, NoLimits, Place, Surveyed};
    use super::*;

    /// A machine whose loads take so long, at two sizes.
    fn profile(ns: f64) -> Profile {
        let host = Host {
            cpu: Some("X".into()),
            kernel: Some("Linux 6.12 #1".into()),
            huge_pages: Some("madvise".into()),
            mitigations: [("meltdown".into(), "Mitigation: PTI".into())].into(),
            clock_ghz: Some(3.0),
            ..Host::default()
        };
        let row = |bytes, ns: f64| {
            let ends = Estimate { low: ns * 0.99, high: ns * 1.01, min: ns * 0.98, ..Estimate::exact(ns) };
            let ns = Some(Estimate { n: 12, passes: 1, ..ends });
            MemoryLatency { bytes, ns, ..MemoryLatency::default() }
        };
        let memory = Memory { latency: vec![row(4096, ns), row(1 << 20, 80.0)], ..Memory::default() };
        Profile { host: Some(host), memory: Some(memory), ..Profile::default() }
    }

    fn with_percent_waiting(ns: f64, percent: f64) -> Profile {
        let mut profile = profile(ns);
        let parameters = [("waiting_for_cpus_percent".into(), percent.into())].into();
        profile.memory.as_mut().unwrap().method = Method { parameters, ..Method::default() };
        profile
    }

    fn learned(surveys: impl IntoIterator<Item = Profile>) -> Limits {
        let mut fleet = Fleet::new();
        for (i, profile) in surveys.into_iter().enumerate() {
            fleet.add(&mut Surveyed::of("n", format!("n{i}.json"), &profile)).unwrap();
        }
        let limits = fleet.learn(&GROUPED).0;
        Limits::parse(&serde_json::to_string(&limits).unwrap()).unwrap()
    }

    /// What is usual of a machine whose host has it at 100 ns, and now and then at 300.
    fn limits() -> Limits {
        limits_of(&|_| ())
    }

    fn limits_of(change: &dyn Fn(&mut Host)) -> Limits {
        let ns = |i: u32| if i % 8 == 7 { 300.0 } else { 100.0 } + f64::from(i) / 10.0;
        learned((0..20).map(|i| {
            let mut machine = profile(ns(i));
            change(machine.host.as_mut().unwrap());
            machine
        }))
    }

    /// The answer on a machine after these measurements.
    fn checked(limits: &Limits, measured: &[Profile]) -> Checked {
        let Place::In(group) = limits.place(&measured[0]) else { panic!("{:?}", limits.place(&measured[0])) };
        let mut checker = Checker::new(group);
        measured.iter().for_each(|profile| checker.add(profile));
        checker.answer()
    }

    #[test]
    fn a_machine_fits_is_odd_or_in_a_mode_that_is_known() {
        let limits = limits();
        let told = |all: &[f64]| checked(&limits, &all.iter().map(|ns| profile(*ns)).collect::<Vec<_>>());
        assert_eq!(told(&[102.0]).verdict, Verdict::Fit);
        let elsewhere = told(&[301.0]);
        assert_eq!(elsewhere.verdict, Verdict::CannotTell);
        assert!(elsewhere.why.ends_with("some of its group are there at times"), "{}", elsewhere.why);
        assert!(told(&[180.0]).why.ends_with("no time to measure it again"), "once is not enough");
        let odd = told(&[180.0, 181.0]);
        assert_eq!((odd.verdict, odd.figures.len()), (Verdict::Odd, 3));
        assert!(
            odd.why.starts_with("memory.latency bytes=4096 cache_type=WB is 180 ns; its group has "),
            "{}",
            odd.why
        );
        assert_eq!(told(&[180.0, 101.0]).verdict, Verdict::Fit, "not again");
        assert_eq!(told(&[50.0, 50.0]).verdict, Verdict::CannotTell, "better than any");
    }

    #[test]
    fn what_something_disturbed_teaches_and_tells_nothing() {
        let limits = limits();
        let busy = checked(&limits, &[with_percent_waiting(180.0, 60.0), with_percent_waiting(180.0, 60.0)]);
        assert_eq!(
            (busy.verdict, &*busy.why),
            (Verdict::CannotTell, "tasks waited for a CPU in 60 % of the time")
        );
        let again = checked(&limits, &[with_percent_waiting(180.0, 60.0), with_percent_waiting(101.0, 0.0)]);
        assert_eq!(again.verdict, Verdict::Fit);
        let quiet = (0..20).map(|i| profile(100.0 + f64::from(i) / 10.0));
        let disturbed = (0..10).map(|i| with_percent_waiting(150.0 + f64::from(i), 60.0));
        let limits = learned(quiet.chain(disturbed));
        assert_eq!(checked(&limits, &[profile(155.0), profile(155.0)]).verdict, Verdict::Odd);
    }

    /// Each of twenty figures scatters twofold from survey to survey; together they do not, and show a machine half as quick.
    #[test]
    fn many_figures_that_scatter_tell_together() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut machine = |times: f64| {
            let mut profile = profile(100.0);
            let latency = &mut profile.memory.as_mut().unwrap().latency;
            let row = latency[0].clone();
            latency.clear();
            for size in 0..20 {
                let ns = times * (10.0 + f64::from(size)) * 2f64.powf(random.f64() - 0.5);
                let ns = Estimate { n: 12, low: ns * 0.99, high: ns * 1.01, ..Estimate::exact(ns) };
                latency.push(MemoryLatency { bytes: 4096 << size, ns: Some(ns), ..row.clone() });
            }
            profile
        };
        let limits = learned((0..20).map(|_| machine(1.0)));
        let mut told = |times: f64| checked(&limits, &[machine(times), machine(times)]);
        assert_eq!(told(1.0).verdict, Verdict::Fit, "{}", told(1.0).why);
        let odd = told(2.5);
        assert!(
            odd.verdict == Verdict::Odd && odd.why.starts_with("memory.latency of=all is 2."),
            "{}",
            odd.why
        );
        assert!(odd.why.contains(" × the usual; its group has "), "{}", odd.why);
    }

    #[test]
    fn facts_are_compared_exactly() {
        let limits = limits();
        let but = |change: &dyn Fn(&mut Host)| {
            let mut machine = profile(100.0);
            change(machine.host.as_mut().unwrap());
            match limits.place(&machine) {
                Place::But(group, differing) => Checked::differs(group, &differing).why,
                Place::Nowhere(why) => why,
                Place::In(_) => String::new(),
            }
        };
        assert_eq!(but(&|_| ()), "");
        let off = but(&|host| host.huge_pages = Some("never".into()));
        assert_eq!(off, "huge pages is never; its group has madvise (surveys: 20)");
        let off = but(&|host| drop(host.mitigations.insert("meltdown".into(), "Vulnerable".into())));
        assert_eq!(
            off,
            "mitigations is meltdown: Vulnerable; its group has meltdown: Mitigation: PTI (surveys: 20)"
        );
        let two =
            limits_of(&|host| drop(host.mitigations.insert("mds".into(), "Mitigation: A; SMT B".into())));
        let mut machine = profile(100.0);
        machine.host.as_mut().unwrap().mitigations.insert("mds".into(), "Vulnerable; SMT B".into());
        let Place::But(group, differing) = two.place(&machine) else { panic!() };
        assert_eq!(
            Checked::differs(group, &differing).why,
            "mitigations is mds: Vulnerable; SMT B; its group has mds: Mitigation: A; SMT B (surveys: 20)",
            "what is equal in both is left out"
        );
        for change in
            [&(|host: &mut Host| host.cpu = Some("Y".into())) as &dyn Fn(&mut Host), &|host: &mut Host| {
                host.kernel = Some("Linux 6.13 #1".into())
            }]
        {
            assert!(but(change).starts_with("no group was learned"), "{}", but(change));
        }
        assert_eq!(but(&|host| host.huge_pages = None), "", "what is not known is not compared");
    }

    #[test]
    fn surveys_of_one_day_are_said_to_be_so() {
        let said = |day: &dyn Fn(u32) -> u32| {
            let mut fleet = Fleet::new();
            for i in 0..20 {
                let mut one = profile(100.0 + f64::from(i));
                one.host.as_mut().unwrap().date = Some(format!("2026-11-{:02}T10:00:{i:02}Z", day(i)));
                fleet.add(&mut Surveyed::of("n", format!("n{i}.json"), &one)).unwrap();
            }
            fleet.learn(&GROUPED).1
        };
        let one_day = said(&|_| 24);
        assert!(matches!(&one_day[..], [only] if only.contains("one machine and one day")), "{one_day:?}");
        assert_eq!(said(&|i| 10 + i % 2), [""; 0]);
    }

    #[test]
    fn few_surveys_and_other_files_teach_nothing() {
        let few = learned((0..5).map(|i| profile(100.0 + f64::from(i))));
        let machine = profile(100.0);
        let Place::In(group) = few.place(&machine) else { panic!() };
        assert!(group.too_few().unwrap().ends_with("learned from 5"), "{:?}", group.too_few());
        for broken in ["", "{}", "{\"schema\": \"coho-fleet/2\"}", "{\"schema\": \"coho-fleet/1\"}"] {
            assert!(Limits::parse(broken).is_err(), "{broken}");
        }
        let good = serde_json::to_value(limits()).unwrap();
        for (end, value) in [("low", -1.0), ("low", 0.0), ("low", 1e300), ("high", 0.5)] {
            let mut wrong = good.clone();
            wrong["groups"][0]["figures"][0]["modes"][0][end] = value.into();
            assert!(matches!(Limits::parse(&wrong.to_string()), Err(NoLimits::Wrong(_))), "{end} {value}");
        }
        let mut wrong = good.clone();
        wrong["groups"][0]["figures"][0]["modes"] = serde_json::json!([]);
        assert!(matches!(Limits::parse(&wrong.to_string()), Err(NoLimits::Wrong(_))));
        wrong["groups"][0]["figures"] = vec![good["groups"][0]["figures"][0].clone(); 30_000].into();
        assert!(Limits::parse(&wrong.to_string()).unwrap_err().to_string().contains("30000 figures"));
    }
}
