//! The page's section on whole programs under placements, and the article's tables with what the simulator makes of
//! their differences (Kimoto).

use std::sync::OnceLock;

use coho_model::placement::{Contrast, Costs, Finding, Range, Sign};
use coho_model::unixbench;
use coho_profile::published::kimoto_bulldozer::{self, Figures, KERNEL_BUILD};
use coho_profile::{WorkloadResult, Workloads};
use maud::{Markup, html};

use super::charts::{self, Chart};
use super::subject::Subject;
use super::{calls, sharing, tables, text};
use crate::terminal::placement::{RUNS, SEED, change, sign};

/// Rows of one table, at most: a profile may bring any number.
const MOST: usize = 300;

/// Whether a page has anything to set the article's tables beside.
pub fn wanted(subjects: &[Subject]) -> bool {
    subjects.iter().any(|subject| subject.profile.workloads.is_some())
}

/// A profile's results and scores, and what they met. `figure` gives a chart its place.
pub fn section(subject: &Subject, id: &str, figure: impl FnMut(Chart, &Markup) -> Markup) -> Markup {
    let Some(workloads) = &subject.profile.workloads else {
        return html! { p.missing { "Not measured: the profile has no section workloads." } };
    };
    html! {
        (results(subject, workloads))
        (scores(workloads))
        (sharing::section(workloads, id, figure))
        (calls::missing(&workloads.method.not_available))
        details { summary { "How programs were measured" } (tables::method(&workloads.method)) }
    }
}

/// Stolen time of a row beyond which it is called disturbed, in s.
const STEAL_S: f64 = 0.05;

/// What the host took from a row, where it is more than a little. That tasks waited for a CPU says little of others: a
/// workload of several processes makes them wait itself.
pub fn disturbance(row: &WorkloadResult) -> Option<String> {
    row.steal_s.filter(|&steal| steal > STEAL_S).map(|steal| format!("the host took {steal:.2} s"))
}

fn results(subject: &Subject, workloads: &Workloads) -> Markup {
    let paper = kimoto_bulldozer::figures();
    // The article ran one copy.
    let published = |result: &WorkloadResult| {
        let value = paper.c6_off.stock.results.get(&result.test).filter(|_| result.copies == 1);
        value.map_or("–".to_owned(), |value| text::number(*value))
    };
    let taken = |result: &WorkloadResult| {
        let steal = result.steal_s.map_or("–".to_owned(), |steal| format!("{steal:.2}"));
        let waiting = result.psi_cpu_some.map_or("–".to_owned(), |share| format!("{:.0} %", 100.0 * share));
        [steal, waiting]
    };
    let value = |result: &WorkloadResult| match &result.value {
        Some(value) => format!("{} {}", text::estimate(value), text::short(&result.unit, 10)),
        None => "–".to_owned(),
    };
    let clock = |result: &WorkloadResult| {
        result.clock_ghz.as_ref().map_or("–".to_owned(), |ghz| format!("{} GHz", text::estimate(ghz)))
    };
    html! { @if !workloads.results.is_empty() {
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Test" } th scope="col" { "Placement" } th scope="col" { "Pair" } th scope="col" { "Copies" }
                th scope="col" { "Result (95 % interval)" } th scope="col" { "Index" } th scope="col" { "Clock" }
                th scope="col" { "CPUs" } th scope="col" { "Steal, s" } th scope="col" { "Waited" }
                @if !subject.published { th scope="col" { "Published: C6 off, stock" } }
            } }
            tbody { @for result in workloads.results.iter().take(MOST) {
                tr {
                    th scope="row" { (text::short(&result.test, 60))
                        @if let Some(why) = &result.not_available { div.reason { (text::short(&text::reason(why), 300)) } } }
                    td { (text::short(&result.placement, 40)) }
                    td { (text::short(result.pair_class.as_deref().unwrap_or("–"), 40)) }
                    td.number { (result.copies) }
                    td.number { (value(result)) }
                    td.number { (result.index.map_or("–".to_owned(), |index| format!("{index:.1}"))) }
                    td.number { (clock(result)) }
                    td { @if result.cpus.is_empty() { "–" } @else { (tables::cpu_list(&result.cpus)) } }
                    @let disturbed = disturbance(result).is_some();
                    @let [steal, waited] = taken(result);
                    td.number { @if disturbed { strong { (steal) } } @else { (steal) } }
                    td.number { (waited) }
                    @if !subject.published { td.number.published { (published(result)) } }
                }
            } }
        } }
        @if workloads.results.len() > MOST { p.note { "And " (workloads.results.len() - MOST) " more, in the profile." } }
        p.note { "Placement none: the scheduler's own. Index: ten times the result over UnixBench's baseline. Steal: time that the host "
            "took from the row's CPUs, bold from " (STEAL_S) " s on. Waited: share of the time in which a task waited for a CPU (PSI), as "
            "more copies than CPUs must, and processes of one workload may." }
    } }
}

fn scores(workloads: &Workloads) -> Markup {
    html! { @if !workloads.scores.is_empty() {
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Placement" } th scope="col" { "Copies" } th scope="col" { "Score" } th scope="col" { "Tests" }
            } }
            tbody { @for score in workloads.scores.iter().take(MOST) {
                tr {
                    th scope="row" { (text::short(&score.placement, 40)) }
                    td.number { (score.copies) } td.number { (format!("{:.1}", score.index)) } td.number { (score.tests) }
                }
            } }
        } }
    } }
}

/// The article's four tables, what changes between them, and why.
pub fn article(mut figure: impl FnMut(Chart, &Markup) -> Markup) -> Markup {
    let paper = kimoto_bulldozer::figures();
    let chart = charts::contributions("contributions".to_owned(), &Contrast::of_topology(&paper));
    let caption = html! {
        strong { "What the patch does to the index, test by test. " }
        "Hundredths of the index's logarithm, about per cent of the score; the bars of a colour add up to the change of the score. "
        "A test whose bars point to both sides tells noise."
    };
    html! {
        h3 { "UnixBench by topology and idle state" }
        p { "Kimoto (" (paper.source) "): " (paper.machine.cpu) ", " (paper.machine.os) ", " (paper.method.benchmark)
            ". Stock: the kernel takes all four cores to share one L2. Patched: two modules, their cores flagged as threads." }
        (four_tables(&paper))
        h4 { "What the patch and C6 change" }
        (contrasts(&paper))
        (figure(chart, &caption))
        p.note { "In per cent, and in hundredths of the index's logarithm to which the tests' changes add up. Bold: beyond noise. "
            "Nothing was repeated, so noise is what one factor does under one setting of the other and not under the other; "
            "a change counts if the mean of its two pairs exceeds twice that of its own test and of its kind of test "
            "(computing, processes, files). Of the build one run each was timed." }
        h4 { "What ULE's rules say" }
        (findings())
    }
}

fn number(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { text::number(value) }
}

fn four_tables(paper: &Figures) -> Markup {
    let tables = paper.tables().map(|(_, table)| table);
    let heads = ["C6 on, stock", "C6 on, patched", "C6 off, stock", "C6 off, patched"];
    html! {
        div.scroll { table.figures {
            thead { tr { th scope="col" { "Test" } th scope="col" { "Unit" } @for head in heads { th scope="col" { (head) } } } }
            tbody {
                @for test in unixbench::TESTS {
                    tr {
                        th scope="row" { (test.title) } td { (test.unit) }
                        @for table in tables { td.number {
                            @let value = table.results[test.name];
                            (number(value)) " " small { (format!("{:.1}", test.index(value))) }
                        } }
                    }
                }
                tr { th scope="row" { strong { "Index Score" } } td {}
                    @for table in tables { td.number { strong { (format!("{:.1}", table.score)) } } } }
                tr { th scope="row" { "Kernel build, -j6" } td { "s" }
                    @for table in tables { td.number { (format!("{:.0}", table.kernel_build_s)) } } }
            }
        } }
        p.note { "Small: the index." }
    }
}

fn title(test: &str) -> &str {
    match test {
        KERNEL_BUILD => "Kernel build, -j6 (speed)",
        test => unixbench::by_name(test).map_or(test, |test| test.title),
    }
}

fn contrasts(paper: &Figures) -> Markup {
    let (topology, c6) = (Contrast::of_topology(paper), Contrast::of_c6(paper));
    let percent = |percent: f64| format!("{percent:+.1}").replace('-', "−");
    let points = |points: Option<[f64; 2]>, pair: usize| {
        points.map_or("–".to_owned(), |points| format!("{:+.2}", points[pair]).replace('-', "−"))
    };
    let total = |contrasts: &[Contrast], pair: usize| {
        let sum: f64 = contrasts.iter().filter_map(|contrast| Some(contrast.index_points?[pair])).sum();
        format!("{sum:+.2}").replace('-', "−")
    };
    let cells = |contrast: &Contrast| {
        html! { @for pair in 0..2 {
            td.number {
                @if contrast.beyond_noise { strong { (percent(contrast.percent()[pair])) } }
                @else { (percent(contrast.percent()[pair])) }
                " " small { (points(contrast.index_points, pair)) }
            }
        } }
    };
    html! {
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Test" } th scope="col" { "Patched / stock, C6 on" } th scope="col" { "C6 off" }
                th scope="col" { "C6 off / on, stock" } th scope="col" { "patched" }
            } }
            tbody {
                @for (topology, c6) in topology.iter().zip(&c6) {
                    tr { th scope="row" { (title(topology.test)) } (cells(topology)) (cells(c6)) }
                }
                tr { th scope="row" { strong { "Index" } }
                    @for contrasts in [&topology, &c6] { @for pair in 0..2 { td.number { small { (total(contrasts, pair)) } } } }
                }
            }
        } }
    }
}

/// They are the same on every page.
fn simulated() -> &'static [Finding] {
    static FINDINGS: OnceLock<Vec<Finding>> = OnceLock::new();
    FINDINGS.get_or_init(|| Finding::all(&kimoto_bulldozer::figures(), &Costs::default(), RUNS, SEED))
}

fn findings() -> Markup {
    let cell = |ratio: Range| {
        let strong = matches!(ratio.sign(), Sign::Up | Sign::Down);
        html! { td.number { @if strong { strong { (change(ratio)) } } @else { (change(ratio)) } } }
    };
    html! {
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Test" } th scope="col" { "Tree alone" } th scope="col" { "Its flag" }
                th scope="col" { "Both: patched / stock" } th scope="col" { "Measured" } th scope="col" { "Verdict" }
            } }
            tbody { @for finding in simulated() {
                tr {
                    th scope="row" { (title(finding.measured.test)) }
                    (cell(finding.tree)) (cell(finding.flag)) (cell(finding.both))
                    td { (sign(finding.measured_sign()))
                        @let [on, off] = finding.measured.percent().map(|percent| format!("{percent:+.1}").replace('-', "−"));
                        " " small { (on) ", " (off) } }
                    td { (finding.verdict().words()) }
                }
            } }
        } }
        @for told in simulated().iter().filter_map(Finding::size) { p { (told) } }
        p.note { "Change of the rate in per cent, and where 95 % of " (RUNS) " simulated runs lie, each with other costs out of their "
            "ranges; bold: all of one sign. Tree alone: the control that the article lacks, a stock kernel booted with "
            "kern.smp.topology=5. The flag forbids an idle CPU to spin for work, and a woken task to stay on its CPU while the "
            "neighbour is busy, which drives the two of a pipe apart. The simulator knows no clock, disk or capacity of caches: "
            "C6 and file copy are beyond it. `coho predict placement` tells every cost that it assumes." }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_articles_tables_and_contrasts_are_printed() {
        let paper = kimoto_bulldozer::figures();
        let tables = four_tables(&paper).into_string();
        for figure in ["650.5", "631.8", "733.5", "720.2", "192096", "170022", "480.2", "737"] {
            assert!(tables.contains(figure), "{figure}");
        }
        let contrasts = contrasts(&paper).into_string();
        for figure in ["−19.5", "−1.80", "+12.7", "−15.8", "−2.92", "−1.82"] {
            assert!(contrasts.contains(figure), "{figure}");
        }
        assert!(
            contrasts.contains("<strong>−19.5</strong>") && !contrasts.contains("<strong>+12.7</strong>")
        );
    }

    #[test]
    fn the_flag_explains_context_switching() {
        let finding = simulated().iter().find(|finding| finding.measured.test == "pipe_context_switching");
        assert_eq!(finding.unwrap().verdict().words(), "sign as by the flag");
        assert!(findings().into_string().contains("sign as by the flag"));
    }

    #[test]
    fn a_profile_cannot_speak_html() {
        let mut subject = Subject::load("published:kimoto-bulldozer/c6-on-stock").unwrap().remove(0);
        subject.published = false;
        subject.profile.workloads.as_mut().unwrap().results[0].test = "<script>".into();
        let page = section(&subject, "s0", |_, caption| caption.clone()).into_string();
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"));
        assert!(page.contains("Published: C6 off, stock") && page.contains("650.5"));
        // Four copies stand beside nothing that the article tells.
        let workloads = subject.profile.workloads.as_mut().unwrap();
        workloads.results.truncate(1);
        let beside = |copies: u32| {
            let result = WorkloadResult {
                test: "pipe_throughput".into(),
                copies,
                steal_s: Some(0.07),
                psi_cpu_some: Some(0.02),
                ..WorkloadResult::default()
            };
            let workloads = Workloads { results: vec![result], ..Workloads::default() };
            results(&subject, &workloads).into_string()
        };
        let published = kimoto_bulldozer::figures().c6_off.stock.results["pipe_throughput"];
        let published = text::number(published);
        assert!(beside(1).contains(&published) && !beside(4).contains(&published));
        assert!(beside(1).contains("<strong>0.07</strong>") && beside(1).contains("2 %"), "{}", beside(1));
    }
}
