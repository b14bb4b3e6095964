//! Kimoto: UnixBench by topology and idle state beside this machine's results, and what ULE's rules say of the changes.

use coho_model::placement::Finding;
use coho_profile::Workloads;
use coho_profile::published::kimoto_bulldozer::{self, KERNEL_BUILD};
use coho_profile::unixbench;

use crate::Subject;
use crate::figure::Figure;
use crate::part::{Cell, Column, Part, PartList, Row, Table, Text};
use crate::sections::placement::{change, sign};

/// What of this profile stands beside the article's tables.
pub fn parts(subject: &Subject) -> Vec<Part> {
    let Some(workloads) = &subject.profile.workloads else { return Vec::new() };
    let mut parts = Vec::new();
    parts.detail(four_tables(workloads).filter(|_| !subject.published));
    if !subject.answers.ule.is_empty() {
        parts.detail(ule(&subject.answers.ule));
        for size in subject.answers.ule.iter().filter_map(Finding::size) {
            parts.detail(Text::new(size));
        }
    }
    parts
}

fn title(test: &str) -> &str {
    match test {
        KERNEL_BUILD => "Kernel build, -j6 (speed)",
        test => unixbench::by_name(test).map_or(test, |test| test.title),
    }
}

/// The article ran one copy where the scheduler put it.
fn four_tables(workloads: &Workloads) -> Option<Table> {
    let paper = kimoto_bulldozer::figures();
    let tables = paper.tables().map(|(_, table)| table);
    let row = |test: &unixbench::Test| {
        let same = |row: &&coho_profile::WorkloadResult| {
            row.test == test.name && row.copies == 1 && row.placement == "none"
        };
        let here = workloads.results.iter().find(same)?.value.as_ref()?;
        let there = tables.iter().map(|table| Cell::from(Figure::exact(table.results[test.name])));
        let names = [test.title.into(), test.unit.into(), Figure::exact(here.median).into()];
        Some(Row::new(names.into_iter().chain(there)))
    };
    let rows: Vec<Row> = unixbench::TESTS.iter().filter_map(row).collect();
    let heads = ["here", "C6 on, stock", "C6 on, patched", "C6 off, stock", "C6 off, patched"];
    (!rows.is_empty()).then(|| {
        Table::new("kimoto-results", "One copy, placed by the scheduler, here and as published")
            .columns([Column::text("test"), Column::text("unit")])
            .columns(heads.map(|name| Column::figures(name, "")))
            .rows(rows)
            .note(format!(
                "Published: {}, {}. Stock: the kernel believes that all four cores share one L2; patched: two \
                 modules, their cores flagged as threads. The medians here are of this machine's kernel, another \
                 scheduler.",
                paper.machine.cpu, paper.machine.os
            ))
    })
}

fn ule(findings: &[Finding]) -> Table {
    let rows = findings.iter().map(|finding| {
        let percent = finding.measured.percent().map(|percent| format!("{percent:+.1}").replace('-', "−"));
        let measured = format!("{} ({}, {})", sign(finding.measured_sign()), percent[0], percent[1]);
        Row::new([
            title(finding.measured.test).into(),
            change(finding.tree).into(),
            change(finding.flag).into(),
            change(finding.both).into(),
            measured.into(),
            finding.verdict().words().into(),
        ])
    });
    Table::new("kimoto-ule", "What ULE's rules say of the patch")
        .columns(["test", "tree alone", "its flag", "both: patched / stock", "measured", "verdict"].map(Column::text))
        .rows(rows)
        .note(
            "Change of the rate in per cent, and the range of 95 % of the simulated runs, each with other costs from \
             their ranges. Tree alone: the control that the article lacks, a stock kernel booted with \
             kern.smp.topology=5. Measured: with C6 on and off; 0 where the change is within noise. The simulator \
             knows no clock, disk or capacity of caches.",
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::Body;

    fn tables(subject: &Subject) -> Vec<String> {
        let id = |part: &Part| match &part.body {
            Body::Table(table) => Some(table.id.clone()),
            _ => None,
        };
        parts(subject).iter().filter_map(id).collect()
    }

    #[test]
    fn the_articles_results_stand_beside_one_copy_alone() {
        let mut subject = Subject::load("published:kimoto-bulldozer/c6-on-stock").unwrap().remove(0);
        assert!(tables(&subject).is_empty(), "it is the article, and nothing was simulated");
        subject.published = false;
        assert_eq!(tables(&subject), ["kimoto-results"]);
        for result in &mut subject.profile.workloads.as_mut().unwrap().results {
            result.copies = 4;
        }
        assert!(tables(&subject).is_empty());
    }

    #[test]
    fn the_flag_explains_context_switching() {
        let subject = Subject::load("published:kimoto-bulldozer/c6-off-stock").unwrap().remove(0).answered();
        let parts = parts(&subject);
        let Some(Part { body: Body::Table(table), .. }) = parts.first() else { panic!("{parts:?}") };
        let row = table.rows.iter().find(|row| row.cells[0] == "Pipe-based Context Switching".into());
        assert_eq!(row.unwrap().cells[5], "sign fits the flag".into());
    }
}
