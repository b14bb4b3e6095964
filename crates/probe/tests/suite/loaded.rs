//! Latency under load, on the machine at hand.

use std::time::Duration;

use coho_platform::pin;
use coho_probe::Course;
use coho_probe::memory::{self, Part, loaded::Options};
use coho_profile::{BlockState, Fence, Loaded, LoadedRow, Operation, Traffic};
use coho_testing::{Capability, needs};

use crate::measured;

fn two_cpus() -> Vec<u32> {
    pin::allowed().unwrap().iter().take(2).collect()
}

fn of(loaded: &Loaded, traffic: Traffic) -> Vec<&LoadedRow> {
    loaded.rows.iter().filter(|row| row.traffic == traffic).collect()
}

#[test]
fn others_move_less_the_longer_they_pause() {
    needs!(Capability::TwoCpus);
    let course = Course::on(two_cpus()).within(Duration::from_secs(60));
    // A neighbour may slow down what has no pause.
    let mut seen = Vec::new();
    for _ in 0..3 {
        let loaded = measured(&Options { course: course.clone(), ..Options::default() }).unwrap();
        let rates = |row: &&LoadedRow| row.bytes_per_s.as_ref().map(|rate| rate.median);
        let falls = Traffic::ALL.into_iter().filter(|kind| *kind != Traffic::None).all(|kind| {
            let rows = of(&loaded, kind);
            assert!(rows.iter().all(|row| row.threads == 1 && !row.instruction.is_empty()), "{rows:?}");
            let (first, last) = (rows.first().and_then(rates), rows.last().and_then(rates));
            first.zip(last).is_some_and(|(none, longest)| none > 2.0 * longest && longest > 0.0)
        });
        if falls {
            return;
        }
        seen.push(loaded.rows.iter().map(|row| rates(&row)).collect::<Vec<_>>());
    }
    panic!("bytes a second: {seen:?}");
}

#[test]
fn streams_are_not_quicker_than_the_same_loop_alone() {
    needs!(Capability::TwoCpus);
    let course = Course::on(two_cpus()).within(Duration::from_secs(60));
    let rates = memory::Options {
        parts: vec![Part::Rates],
        sizes: vec![32 << 20],
        threads: vec![1],
        operations: vec![Operation::Write],
        states: vec![BlockState::Warm],
        fences: vec![Fence::Run],
        course: course.clone(),
        ..memory::Options::default()
    };
    let stream = Options { traffic: vec![Traffic::NonTemporal], course, ..Options::default() };
    // What each try saw; a neighbour may slow down either of the two.
    let mut seen = Vec::new();
    for _ in 0..3 {
        let (memory, loaded) = (measured(&rates).unwrap(), measured(&stream).unwrap());
        let rows = of(&loaded, Traffic::NonTemporal);
        let alone = memory.rates.iter().filter(|rate| rate.instruction == rows[0].instruction);
        let alone = alone.filter_map(|rate| Some(rate.bytes_per_s.as_ref()?.median)).fold(0.0, f64::max);
        let streamed = rows[0].bytes_per_s.as_ref().map(|rate| (rate.low, rate.median));
        if streamed.is_some_and(|(low, median)| low > 0.0 && median <= 1.5 * alone) {
            return;
        }
        seen.push((streamed, alone));
    }
    panic!("bytes a second beside a reader, and alone: {seen:?}");
}

#[test]
fn one_cpu_alone_is_idle_and_says_what_is_missing() {
    let cpus: Vec<u32> = two_cpus().into_iter().take(1).collect();
    let loaded = measured(&Options { quick: true, course: Course::on(cpus), ..Options::default() }).unwrap();
    assert!(loaded.rows.iter().all(|row| row.traffic == Traffic::None && row.bytes_per_s.is_none()));
    assert_eq!(loaded.method.not_available["latency under load"], "it takes a second CPU");
}
