//! What it costs to reach data, by where it lies: charts for those who look rather than read.

use coho_model::Class;
use coho_profile::{CacheType, Coherence, CoherenceTime, PairMethod, Profile, published};

use crate::sections::prelude::*;

/// Bars of each kind, at most.
const MOST: usize = 8;

/// One CPU's loads by the size of what it reads, then lines from other CPUs by class; `None` with fewer than two bars.
pub(super) fn chart(subject: &Subject) -> Option<Chart> {
    let memory = subject.profile.memory.iter().flat_map(|memory| &memory.latency);
    let loads = memory.filter(|row| row.cache_type == CacheType::WriteBack).filter_map(|row| {
        let name = format!("load, {}", words::bytes(row.bytes));
        Some((name, row.ns.as_ref()?))
    });
    let classes = subject.answers.judgement.classes.iter();
    let lines = classes.map(|Class { name, ns, pairs, .. }| {
        (format!("line, {name} ({})", words::count(*pairs, "pair")), ns)
    });
    let rows: Vec<_> =
        loads.take(MOST).chain(lines.take(MOST)).filter(|(_, ns)| scale::is_time(ns.median)).collect();
    if rows.len() < 2 {
        return None;
    }
    let bars = rows.iter().map(|(name, ns)| Some(Bar::new(*ns, |ns| format!("{name}: {ns} ns"))));
    let series = vec![BarSeries::new("median", Colour::nth(0), bars)];
    let names = rows.iter().map(|(name, _)| name.clone()).collect();
    let chart = Chart::bars("latency-by-distance", "Latency by distance", Axis::linear("ns"), names, series);
    Some(chart.caption(
        "Loads: one CPU alone reads lines in random order. Lines: handed over between CPUs as the map of pairs has it, the \
         median of each class that the figures show.",
    ))
}

/// Coherence time by claimed class beside the published ones, where it was measured as they were.
pub(super) fn beside_published(subject: &Subject, coherence: &Coherence) -> Option<Chart> {
    let alike =
        |time: &&CoherenceTime| time.method == PairMethod::FreeRunning && scale::is_time(time.coherence_ns);
    let timed = |coherence: &Coherence| -> Vec<(String, CoherenceTime)> {
        let times = coherence.coherence_times.iter().filter(alike);
        times.map(|time| (words::class_of(&time.class, subject), time.clone())).collect()
    };
    let here = timed(coherence);
    if subject.published || here.is_empty() {
        return None;
    }
    let machine =
        |(name, profile): (String, Profile)| (name, true, timed(&profile.coherence.unwrap_or_default()));
    let papers = published::paper("kawabe-furuya").publication().machines.into_iter().map(machine);
    let machines: Vec<_> = std::iter::once(("here".to_owned(), false, here)).chain(papers).collect();
    let mut classes =
        distinct(machines.iter().flat_map(|(.., times)| times.iter().map(|(class, _)| class.clone())));
    classes.sort_by(|a, b| words::class_rank(a).cmp(&words::class_rank(b)));
    let series = machines.iter().enumerate().map(|(index, (name, published, times))| {
        let bars = classes.iter().map(|class| {
            let (_, time) = times.iter().find(|(of, _)| of == class)?;
            let figure = Figure::within(time.coherence_ns, time.interval_ns, time.pairs);
            Some(Bar::new(figure, |ns| format!("{name}, {class}: {ns} ns")))
        });
        BarSeries::new(name, Colour::nth(index), bars).published(*published)
    });
    let series = series.collect();
    let title = "Coherence time by class, here and as published (Kawabe & Furuya)";
    let chart = Chart::bars("coherence-published", title, Axis::linear("ns"), classes, series);
    Some(chart.caption("Free-running increments, less what one CPU alone takes. Hatched: published."))
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, Memory, MemoryLatency};

    use super::*;
    use crate::chart::Plot;

    fn bars(chart: &Chart) -> (&[String], &[BarSeries]) {
        let Plot::Bars { categories, series } = &chart.plot else { panic!("bars") };
        (categories, series)
    }

    #[test]
    fn own_loads_come_before_lines_of_others() {
        let load =
            |bytes, ns| MemoryLatency { bytes, ns: Some(Estimate::exact(ns)), ..MemoryLatency::default() };
        let memory = Memory { latency: vec![load(32 << 10, 1.0), load(64 << 20, 90.0)], ..Memory::default() };
        let paper = Subject::only("published:kawabe-furuya/x7560").unwrap();
        let mut profile = paper.profile.clone();
        profile.memory = Some(memory);
        let mut subject = Subject::new("mine", profile).answered();
        subject.answers.judgement.classes =
            vec![Class { name: "L3".into(), ns: Estimate::exact(25.0), cycles: None, pairs: 6 }];
        let chart = chart(&subject).unwrap();
        let (names, series) = bars(&chart);
        assert_eq!(names, ["load, 32 KiB", "load, 64 MiB", "line, L3 (6 pairs)"]);
        assert_eq!(
            series[0].bars.iter().flatten().map(|bar| bar.value).collect::<Vec<_>>(),
            [1.0, 90.0, 25.0]
        );
        subject.profile.memory = None;
        assert!(super::chart(&subject).is_none(), "one bar is no comparison");
    }

    #[test]
    fn published_times_are_hatched_and_stand_only_beside_what_was_measured_alike() {
        let time = |method| CoherenceTime {
            class: "on-die".into(),
            method,
            mean_ns: 10.0,
            baseline_ns: 2.0,
            baseline: "locked single CPU".into(),
            coherence_ns: 8.0,
            interval_ns: Some((7.0, 9.0)),
            coherence_cycles: None,
            pairs: 1,
        };
        let of = |method| {
            let coherence = Coherence { coherence_times: vec![time(method)], ..Coherence::default() };
            let subject = Subject::new("mine", Profile::default()).answered();
            beside_published(&subject, &coherence)
        };
        assert!(of(PairMethod::Turn).is_none());
        let chart = of(PairMethod::FreeRunning).unwrap();
        let (classes, series) = bars(&chart);
        let hatched: Vec<bool> = series.iter().map(|one| one.published).collect();
        assert_eq!(hatched, [false, true, true]);
        let place = classes.iter().position(|class| class == "on-die").unwrap();
        assert!(series.iter().all(|one| one.bars[place].is_some()), "{series:?}");
    }
}
