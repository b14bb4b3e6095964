//! Hamada et al.: rates by kind of instruction and memory type beside those of a Pentium III (Tables 2 to 8).

use coho_model::path::{Point as Predicted, Summary};
use coho_profile::{CacheType, Estimate, LinesLeft, Memory, MemoryRate, Ns, Operation, published};

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

/// The reading of the paper that all its figures agree with best.
const READING: &str = "dimmnet-h1";

/// Figs. 4 to 6 and 8 to 11, computed from the paper's rates: a chart for each.
pub fn curves() -> Vec<Part> {
    let paper = published::paper("hamada-dimmnet").machine();
    let summary = Summary::of(READING, &paper).expect("the paper has what its paths need");
    let mut parts = Vec::new();
    parts.summary(summary.titles.iter().map(|(figure, title)| curve(&summary, figure, title)));
    parts
}

/// What is saved, by gap: a line for each size and kind of instruction.
fn curve(summary: &Summary, figure: &str, title: &str) -> Chart {
    let points: Vec<&Predicted> = summary.points.iter().filter(|point| point.figure == figure).collect();
    let sizes = distinct(points.iter().map(|point| point.bytes));
    let kinds = distinct(points.iter().map(|point| point.instruction.as_str()));
    let point = |point: &&Predicted| {
        let name = format!("{}, {}", words::bytes(point.bytes as u64), point.instruction);
        let stroke =
            if kinds.first() == Some(&point.instruction.as_str()) { Stroke::Solid } else { Stroke::Dashed };
        let colour = Colour::nth(sizes.iter().position(|&bytes| bytes == point.bytes).unwrap_or_default());
        let (gap_us, percent) = (point.gap_ns / Ns::US, 100.0 * point.gain);
        let hover = format!("{name}, gap of {} us: {} %", words::number(gap_us), signs::change(percent, 1));
        (Series::new(&name, colour, stroke), Point::exact(gap_us, percent, hover))
    };
    let axes = [Axis::log("gap, us"), Axis::linear("time saved, %")];
    let series = Series::by_name(points.iter().map(point));
    Chart::lines(format!("path-fig-{figure}"), format!("Fig. {figure}, computed: {title}"), axes, series).caption(
        "Computed from the paper's rates, as its own curves are only in its picture: a side's DMAs and the link \
         run at the slowest of their rates (H1 of `coho path dimmnet`, whose readings of the paper it shows). \
         Above 0, DIMMnet is quicker.",
    )
}

/// An operation by a kind of instruction on a type of memory.
type Case<'a> = (Operation, &'a str, CacheType);

fn case(rate: &MemoryRate) -> Option<Case<'_>> {
    Some((rate.op, kind(&rate.instruction)?, rate.cache_type))
}

/// The best rate of a case as the paper measured it: one thread, the same block again and again.
fn best<'a>(memory: &'a Memory, wanted: Case<'_>, bytes: u64) -> Option<&'a Estimate> {
    let is = |rate: &&MemoryRate| rate.bytes == bytes && is_usual_of(rate) && case(rate) == Some(wanted);
    let rates = memory.rates.iter().filter(is).filter_map(|rate| rate.bytes_per_s.as_ref());
    rates.max_by(|a, b| a.median.total_cmp(&b.median))
}

/// The rates of this machine under the names and conditions of the paper's, as far as there are any.
pub(super) fn by_kind(mine: &Memory, paper: &Memory) -> Memory {
    let rate = |theirs: &MemoryRate| {
        let bytes_per_s = Some(best(mine, case(theirs)?, theirs.bytes)?.clone());
        Some(MemoryRate {
            bytes_per_s,
            traffic_bytes_per_s: None,
            bursts: None,
            partials: None,
            ..theirs.clone()
        })
    };
    let rates = paper.rates.iter().filter(|theirs| is_usual_of(theirs)).filter_map(rate).collect();
    Memory { rates, ..Memory::default() }
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
            |case, (memory, bytes)| Some(best(memory, case, bytes)?.median / 1e9),
        )
        .note(
            "Published: a Pentium III. Here: the highest median of each kind; plain moves words of 4 bytes, and \
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
    use coho_profile::Profile;

    use super::*;
    use crate::part::Cell;
    use crate::testing::{charts, section, tables};

    #[test]
    fn each_figure_that_is_only_a_picture_is_computed() {
        let section = section(curves());
        let charts = charts(&section);
        let ids: Vec<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
        assert_eq!(ids, [4, 5, 6, 8, 9, 10, 11].map(|figure| format!("path-fig-{figure}")));
        for chart in &charts {
            let Plot::Lines(lines) = &chart.plot else { panic!("{chart:?}") };
            assert!(lines.len() > 1 && lines.iter().all(|line| line.points.len() > 3), "{}", chart.id);
        }
        // As the paper says of Fig. 4: 512 bytes by SIMD gain while the gap is below 1 us.
        let Plot::Lines(lines) = &charts[0].plot else { panic!() };
        let line = lines.iter().find(|line| line.name.starts_with("512 B, simd")).unwrap();
        assert!(line.points.iter().filter(|point| point.x < 1.0).all(|point| point.y > 0.0), "{line:?}");
    }

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
        let paper = published::paper("hamada-dimmnet").machine().memory.unwrap();
        let under_its_names = by_kind(&memory, &paper).rates;
        let [rate] = &under_its_names[..] else { panic!("{under_its_names:?}") };
        assert_eq!((rate.op, &*rate.instruction, rate.bytes), (Operation::Copy, "simd", 512));
        assert_eq!((&rate.bytes_per_s, &rate.bursts), (&Some(Estimate::exact(50e9)), &None));
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
