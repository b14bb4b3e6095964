//! Hamada et al.: rates by kind of instruction and memory type beside those of a Pentium III (Tables 2 to 8).

use coho_profile::{CacheType, LinesLeft, Memory, MemoryRate, Operation, published};

use crate::sections::memory::{is_usual_of, kind};
use crate::sections::prelude::*;

const SIZES: [u64; 3] = [512, 64 << 10, 1 << 20];

/// What of this profile stands beside the paper's figures.
pub fn parts(subject: &Subject) -> Vec<Part> {
    let mut parts = Vec::new();
    if let Some(mine) = subject.profile.memory.as_ref().filter(|_| !subject.published) {
        let paper = published::paper("hamada-dimmnet").machine().memory.unwrap_or_default();
        parts.detail(rates(mine, &paper));
        parts.detail(leavings(subject, mine, &paper));
    }
    parts
}

/// An operation by a kind of instruction on a type of memory.
type Case<'a> = (Operation, &'a str, CacheType);

fn case(rate: &MemoryRate) -> Option<Case<'_>> {
    Some((rate.op, kind(&rate.instruction)?, rate.cache_type))
}

/// The best rate of a case in GB/s as the paper measured it: one thread, the same block again and again.
fn best(memory: &Memory, wanted: Case<'_>, bytes: u64) -> Option<f64> {
    let is = |rate: &&MemoryRate| rate.bytes == bytes && is_usual_of(rate) && case(rate) == Some(wanted);
    let rates = memory.rates.iter().filter(is).filter_map(|rate| rate.bytes_per_s.as_ref());
    rates.map(|rate| rate.median / 1e9).reduce(f64::max)
}

fn rates(mine: &Memory, paper: &Memory) -> impl Bodies {
    let cases = scale::distinct(paper.rates.iter().filter_map(case)).into_iter();
    let measured = cases.filter(|&case| SIZES.iter().any(|&bytes| best(mine, case, bytes).is_some()));
    let title = "GB/s by kind of instruction, here and as published (Tables 2 to 6 and 8)";
    Table::of("hamada-rates", title, measured)
        .text("operation", |(op, kind, _)| format!("{op} {kind}"))
        .text("type", |(.., cache_type)| cache_type.name())
        .columns_of(
            SIZES.iter().flat_map(|&bytes| [(mine, bytes), (paper, bytes)]),
            |(memory, bytes)| match std::ptr::eq(memory, mine) {
                true => Column::figures(words::bytes(bytes), ""),
                false => Column::figures("paper", ""),
            },
            |case, (memory, bytes)| best(memory, case, bytes),
        )
        .note(
            "Published: a Pentium III. Here: the best instruction of each kind; plain moves words of 4 bytes, and \
             stores are waited for once a run, which the paper does not specify.",
        )
}

fn leavings(subject: &Subject, mine: &Memory, paper: &Memory) -> impl Bodies {
    let published = |one: &LinesLeft| {
        let mut same = paper.prefetchnta.iter().filter(|other| other.first == one.first);
        Some(Figure::published(same.find(|other| other.bytes == one.bytes)?.gone.as_ref()?))
    };
    let title = "Lines that are gone when a block is read again (Table 7)";
    Table::of("hamada-leavings", title, &mine.prefetchnta)
        .text("first read", |one| words::short(&one.first, 40))
        .figures("block", "", |one| Figure::bytes(one.bytes))
        .figures("gone", "", |one| Some(subject.figure_of(&one.gone)?.format(Format::Tenths)))
        .figures("paper", "", |one| Some(published(one)?.format(Format::Tenths)))
        .note(
            "The paper counted bursts on the bus; without a counter, lines are counted here by the time of the second \
             read's loads.",
        )
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, Profile};

    use super::*;
    use crate::part::Cell;
    use crate::testing::{section, tables};

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
        let subject = Subject::new("mine", Profile { memory: Some(memory), ..Profile::default() });
        let section = section(parts(&subject));
        let [table] = tables(&section)[..] else { panic!("{section:?}") };
        let cells = &table.rows[0].cells;
        assert_eq!((table.rows.len(), &cells[0]), (1, &"copy simd".into()));
        assert!(matches!(&cells[2], Cell::Figure(figure) if figure.value == 50.0));
        assert!(matches!(&cells[3], Cell::Figure(figure) if figure.value < 1.0), "{cells:?}");
        assert_eq!(cells[4], Cell::Nothing);
    }
}
