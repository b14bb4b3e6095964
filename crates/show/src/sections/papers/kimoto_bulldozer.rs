//! Kimoto: UnixBench by topology and idle state beside this machine's results, and what ULE's rules say of the changes.

use coho_model::placement::Finding;
use coho_profile::unixbench::{self, KERNEL_BUILD};
use coho_profile::{WorkloadResult, Workloads, published};

use crate::sections::placement::{change, sign};
use crate::sections::prelude::*;
use crate::sections::workloads::result;

/// What of this profile stands beside the article's tables.
pub fn parts(subject: &Subject) -> Vec<Part> {
    let mut parts = Vec::new();
    if let Some(workloads) = &subject.profile.workloads {
        let ule = &subject.answers.ule;
        parts.detail((!subject.published).then(|| four_tables(workloads)));
        parts.detail(self::ule(ule));
        parts.detail(ule.iter().filter_map(Finding::size).map(Text::new));
    }
    parts
}

fn of_one_copy<'a>(results: &'a [WorkloadResult], test: &str) -> Option<&'a WorkloadResult> {
    result(results, test, 1, "none")
}

/// The article ran one copy where the scheduler put it.
fn four_tables(workloads: &Workloads) -> impl Bodies {
    let tables = published::paper("kimoto-bulldozer").publication().machines;
    let host = tables[0].1.host.clone().unwrap_or_default();
    let os = host.os.unwrap_or_default();
    let measured = unixbench::TESTS
        .iter()
        .filter_map(|test| Some((test, of_one_copy(&workloads.results, test.name)?.value.as_ref()?.median)));
    let heads = ["C6 on, stock", "C6 on, patched", "C6 off, stock", "C6 off, patched"];
    let without = workloads.without_idle.as_ref();
    let states = without.map(|without| words::short(&words::joined(without.states.iter(), ", "), 20));
    let off = |test: &str| {
        let row = of_one_copy(&without?.results, test)?;
        row.value.as_ref().map(|value| value.median)
    };
    Table::of("kimoto-results", "One copy, placed by the scheduler, here and as published", measured)
        .text("test", |(test, _)| test.title)
        .text("unit", |(test, _)| test.unit)
        .figures("here", "", |(_, here)| here)
        .columns_of(
            states.as_deref(),
            |states| Column::figures(format!("here, {states} off"), ""),
            |(test, _), _| off(test.name),
        )
        .columns_of(
            heads.into_iter().zip(&tables),
            |(head, _)| Column::figures(head, ""),
            |(test, _), (_, (_, table))| {
                of_one_copy(&table.workloads.as_ref()?.results, test.name)?
                    .value
                    .as_ref()
                    .map(|value| value.median)
            },
        )
        .note(format!(
            "Published: {}, {}. Stock: the kernel believes that all four cores share one L2; patched: two \
             modules, their cores flagged as threads. The medians here are of this machine's kernel, another \
             scheduler.",
            host.cpu.unwrap_or_default(),
            os.split(',').next().unwrap_or_default()
        ))
}

fn ule(findings: &[Finding]) -> TableOf<&Finding> {
    let title = |test| match test {
        KERNEL_BUILD => "Kernel build, -j6 (speed)",
        test => unixbench::by_name(test).map_or(test, |test| test.title),
    };
    Table::of("kimoto-ule", "What ULE's rules say of the patch", findings)
        .text("test", |finding| title(finding.measured.test))
        .text("tree alone", |finding| change(finding.tree))
        .text("its flag", |finding| change(finding.flag))
        .text("both: patched / stock", |finding| change(finding.both))
        .text("measured", |finding| {
            let [on, off] = finding.measured.percent().map(|percent| signs::change(percent, 1));
            format!("{} ({on}, {off})", sign(finding.measured_sign()))
        })
        .text("verdict", |finding| finding.verdict().words())
        .note(
            "Change of the rate in per cent, and the range of 95 % of the simulated runs, each with other \
             costs from their ranges. Tree alone: the control that the article lacks, a stock kernel booted \
             with kern.smp.topology=5. Measured: with C6 on and off; 0 where the change is within noise. \
             The simulator models no clock, disk or cache capacity.",
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{section, tables};

    #[test]
    fn the_articles_results_stand_beside_one_copy_alone() {
        let ids = |subject: &Subject| -> Vec<String> {
            tables(&section(parts(subject))).into_iter().map(|table| table.id.clone()).collect()
        };
        let mut subject = Subject::only("published:kimoto-bulldozer/c6-on-stock").unwrap();
        assert!(ids(&subject).is_empty(), "it is the article, and nothing was simulated");
        subject.published = false;
        assert_eq!(ids(&subject), ["kimoto-results"]);
        for result in &mut subject.profile.workloads.as_mut().unwrap().results {
            result.copies = 4;
        }
        assert!(ids(&subject).is_empty());
    }

    #[test]
    fn the_flag_explains_context_switching() {
        let subject = Subject::only("published:kimoto-bulldozer/c6-off-stock").unwrap().answered();
        let section = section(parts(&subject));
        let mut rows = tables(&section)[0].rows.iter();
        let row = rows.find(|row| row.cells[0] == "Pipe-based Context Switching".into());
        assert_eq!(row.unwrap().cells[5], "sign as by the flag".into());
    }
}
