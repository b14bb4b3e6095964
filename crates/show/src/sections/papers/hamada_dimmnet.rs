//! Hamada et al.: rates by kind of instruction and memory type beside those of a Pentium III (Tables 2 to 8).

use coho_profile::published::hamada_dimmnet;
use coho_profile::{CacheType, Memory, MemoryRate, Operation};

use crate::Subject;
use crate::figure::{Figure, Format};
use crate::part::{Cell, Column, Part, PartList, Row, Table};
use crate::sections::memory::{is_usual_of, kind};

/// The paper's sizes.
const SIZES: [u64; 3] = [512, 64 << 10, 1 << 20];

/// What of this profile stands beside the paper's figures.
pub fn parts(subject: &Subject) -> Vec<Part> {
    let Some(mine) = subject.profile.memory.as_ref().filter(|_| !subject.published) else {
        return Vec::new();
    };
    let paper = hamada_dimmnet::figures().publication().machines.remove(0).1.memory.unwrap_or_default();
    let mut parts = Vec::new();
    parts.detail(rates(mine, &paper));
    parts.detail(leavings(subject, mine, &paper));
    parts
}

/// The best of a kind, as the paper tells it: one thread, the same block again and again.
fn best(memory: &Memory, op: Operation, name: &str, kinds: CacheType, bytes: u64) -> Option<f64> {
    let is_asked = |rate: &&MemoryRate| {
        rate.op == op
            && rate.cache_type == kinds
            && rate.bytes == bytes
            && is_usual_of(rate)
            && kind(&rate.instruction) == Some(name)
    };
    memory
        .rates
        .iter()
        .filter(is_asked)
        .filter_map(|rate| Some(rate.bytes_per_s.as_ref()?.median / 1e9))
        .reduce(f64::max)
}

fn rates(mine: &Memory, paper: &Memory) -> Option<Table> {
    let mut cases: Vec<(Operation, &str, CacheType)> = Vec::new();
    for rate in &paper.rates {
        let Some(kind) = kind(&rate.instruction) else { continue };
        let case = (rate.op, kind, rate.cache_type);
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    let row = |&(op, kind, of): &(Operation, &str, CacheType)| {
        let here = SIZES.map(|bytes| best(mine, op, kind, of, bytes));
        let there = SIZES.map(|bytes| best(paper, op, kind, of, bytes));
        let figures =
            here.into_iter().zip(there).flat_map(|(here, there)| [Cell::maybe(here), Cell::maybe(there)]);
        let name = format!("{op} {kind}");
        here.iter()
            .any(Option::is_some)
            .then(|| Row::new([name.into(), of.name().into()].into_iter().chain(figures)))
    };
    let rows: Vec<Row> = cases.iter().filter_map(row).collect();
    let columns = SIZES
        .iter()
        .flat_map(|&bytes| [Column::figures(crate::words::bytes(bytes), ""), Column::figures("paper", "")]);
    let table = Table::new(
        "hamada-rates",
        "GB/s by kind of instruction, here and as published (Tables 2 to 6 and 8)",
    );
    (!rows.is_empty()).then(|| {
        table.columns([Column::text("operation"), Column::text("type")]).columns(columns).rows(rows).note(
            "Published: a Pentium III. Here: the best instruction of each kind; plain moves words of 4 bytes, and \
             stores are waited for once a run, which the paper does not specify.",
        )
    })
}

/// Table 7.
fn leavings(subject: &Subject, mine: &Memory, paper: &Memory) -> Option<Table> {
    let row = |one: &coho_profile::LinesLeft| {
        let same =
            paper.prefetchnta.iter().find(|other| (&other.first, other.bytes) == (&one.first, one.bytes));
        let [gone, published] = [Some(one), same].map(|row| row.and_then(|row| row.gone.as_ref()));
        Row::new([
            crate::words::short(&one.first, 40).into(),
            Figure::bytes(one.bytes).into(),
            Cell::maybe(gone.map(|gone| subject.figure(gone).format(Format::Tenths))),
            Cell::maybe(published.map(|gone| Figure::published(gone).format(Format::Tenths))),
        ])
    };
    let rows: Vec<Row> = mine.prefetchnta.iter().map(row).collect();
    let title = "Lines that are gone when a block is read again (Table 7)";
    let columns = [
        Column::text("first read"),
        Column::figures("block", ""),
        Column::figures("gone", ""),
        Column::figures("paper", ""),
    ];
    (!rows.is_empty()).then(|| {
        Table::new("hamada-leavings", title).columns(columns).rows(rows).note(
            "The paper counted bursts on the bus; without a counter, lines are counted here by the time of the second \
             read's loads.",
        )
    })
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, Profile};

    use super::*;
    use crate::part::Body;

    #[test]
    fn only_kinds_that_were_measured_stand_beside_the_papers() {
        let rate = MemoryRate {
            op: Operation::Copy,
            instruction: "avx2".into(),
            bytes: 512,
            threads: 1,
            bytes_per_s: Some(Estimate::exact(50e9)),
            ..MemoryRate::default()
        };
        let memory = Memory { rates: vec![rate], ..Memory::default() };
        let parts = parts(&Subject::new("mine", Profile { memory: Some(memory), ..Profile::default() }));
        let [Part { body: Body::Table(table), .. }] = &parts[..] else { panic!("{parts:?}") };
        let cells = &table.rows[0].cells;
        assert_eq!((table.rows.len(), &cells[0]), (1, &"copy simd".into()));
        assert!(matches!(&cells[2], Cell::Figure(figure) if figure.value == 50.0));
        assert!(matches!(&cells[3], Cell::Figure(figure) if figure.value < 1.0), "{cells:?}");
        assert_eq!(cells[4], Cell::Nothing);
    }

    #[test]
    fn nothing_stands_beside_nothing_or_the_paper_itself() {
        assert!(parts(&Subject::new("mine", Profile::default())).is_empty());
        assert!(parts(&Subject::load("published:hamada-dimmnet").unwrap().remove(0)).is_empty());
    }
}
