//! The page as a whole: one file that fetches nothing.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use coho_profile::PairMethod;
use coho_profile::published::{self, kawabe_furuya};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use plotly::Plot;
use serde_json::Value;

use super::charts::{self, Chart};
use super::encode::{self, Precision};
use super::matrix::Matrix;
use super::subject::Subject;
use super::{
    barriers, calls, choices, classes, contention, counters, cpi, evolution, findings, histogram, idle,
    memory, path, programs, reads, scale, sections, tables, text, workloads,
};
use crate::visible::{Style, visible};

/// Nothing is fetched and no form sent, whatever a profile brings: the browser enforces it.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:; base-uri 'none'; form-action 'none'";

/// Boxes of the finest level in all drawings of a page together.
const MAX_BOXES: usize = 768;

/// The report on these profiles.
pub fn render(subjects: &[Subject]) -> String {
    let mut page = Page { charts: Vec::new(), boxes: MAX_BOXES / subjects.len().max(1) };
    let papers = page.published_columns(subjects);
    let matrices: Vec<Option<Matrix>> = subjects.iter().map(Matrix::of).collect();
    let mut precisions = plan(&matrices).into_iter();
    let sections: Vec<Markup> = subjects
        .iter()
        .zip(&matrices)
        .enumerate()
        .map(|(index, (subject, matrix))| {
            let views = matrix.as_ref().map_or(0, |matrix| matrix.views.len());
            let precisions: Vec<_> = precisions.by_ref().take(views).collect();
            page.subject(index, subject, matrix.as_ref(), &precisions, &papers)
        })
        .collect();
    let beside = page.beside(subjects, &papers);
    let title = match subjects {
        [only] => format!("coho report: {}", text::short(&only.label, 60)),
        several => format!("coho report: {} profiles", several.len()),
    };
    let body = html! {
        header { h1 { (title) }
            p.lead { "What it costs the CPUs of a machine to share a cache line: measured figures, with their intervals, beside published ones." }
        }
        (findings::section(subjects))
        (contents(subjects))
        main {
            @if subjects.len() > 1 { (comparison(subjects)) }
            @for section in &sections { (section) }
            (beside)
        }
        footer { p { "Made by coho " (env!("CARGO_PKG_VERSION")) ". Times are medians; an interval in parentheses is the median's 95 % interval, one in brackets the range of n samples, which are too few for that." } }
    };
    let title = visible(&title, Style::Plain);
    document(&title, &PreEscaped(visible(&body.into_string(), Style::Plain).into_owned()), &page.charts)
}

/// Whether a file is a page that [`render`] made.
pub fn is_report(file: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(file).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    let mark = format!("content=\"{GENERATOR}\"");
    read.is_ok() && String::from_utf8_lossy(&head).contains(&mark)
}

/// What the page says that it was made by.
const GENERATOR: &str = "coho";
/// The mark stands among the first bytes.
const HEAD_BYTES: u64 = 4096;

fn document(title: &str, body: &Markup, charts: &[Chart]) -> String {
    let data: serde_json::Map<String, Value> =
        charts.iter().map(|chart| (chart.id.clone(), chart.json.clone())).collect();
    let page = html! {
        (DOCTYPE)
        html lang="en" data-charts=(charts.len()) data-drawn="0" {
            head {
                meta charset="utf-8";
                meta name="generator" content=(GENERATOR);
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(include_str!("page.css"))) }
            }
            body {
                (body)
                @if !charts.is_empty() {
                    script { (PreEscaped(plotly_script())) }
                    script type="application/json" id="charts" { (PreEscaped(in_script(&Value::Object(data)))) }
                    script { (PreEscaped(include_str!("page.js"))) }
                }
            }
        }
    };
    page.into_string()
}

/// JSON that no profile can break out of: without `<`, nothing in it ends the script or opens a comment.
fn in_script(value: &Value) -> String {
    visible(&value.to_string(), Style::Json).replace('<', "\\u003c")
}

/// The drawing library alone: the crate hands it out together with a formula typesetter that no chart here needs.
fn plotly_script() -> String {
    let sources = Plot::offline_js_sources();
    let script = sources.split_once('>').and_then(|(_, rest)| rest.split_once("</script>"));
    script.map(|(script, _)| script.to_owned()).unwrap_or_default()
}

/// Precisions of all views of all matrices, in order.
fn plan(matrices: &[Option<Matrix>]) -> Vec<Option<Precision>> {
    let views = matrices.iter().flatten().flat_map(|matrix| &matrix.views);
    encode::plan(&views.map(|view| view.ns.len()).collect::<Vec<_>>())
}

fn contents(subjects: &[Subject]) -> Markup {
    html! {
        nav aria-label="Contents" {
            h2 { "Contents" }
            ul {
                @if subjects.len() > 1 { li { a href="#comparison" { "Comparison" } } }
                @for (index, subject) in subjects.iter().enumerate() {
                    li {
                        a href=(format!("#s{index}")) { (text::short(&subject.label, 60)) }
                        ul.inline { @for (id, name) in sections::ALL {
                            li { a href=(format!("#s{index}-{id}")) { (name) } }
                        } }
                    }
                }
                li { a href="#beside" { "Beside the published figures" } }
            }
        }
    }
}

fn comparison(subjects: &[Subject]) -> Markup {
    let all: Vec<&Subject> = subjects.iter().collect();
    html! {
        section id="comparison" {
            h2 { "Comparison" }
            p { "Figures that at least one of the profiles has; the same name is the same quantity. n counts CPUs or pairs." }
            (tables::side_by_side(&all, |_| true, 150))
        }
    }
}

/// The page while it is written: charts gather to be drawn at its end.
struct Page {
    charts: Vec<Chart>,
    /// How many boxes the finest level of each topology may have.
    boxes: usize,
}

impl Page {
    /// The paper's machines that are not among the subjects themselves.
    fn published_columns(&self, subjects: &[Subject]) -> Vec<Subject> {
        let paper = published::kawabe_furuya::figures().publication();
        let mut columns = Subject::of_publication(paper);
        columns.retain(|column| subjects.iter().all(|subject| subject.label != column.label));
        columns
    }

    /// A place for a chart, which is drawn later.
    fn figure(&mut self, chart: Chart, caption: &Markup) -> Markup {
        let markup = html! {
            figure {
                div.plot id=(chart.id) role="img" aria-label=(chart.title) style=(format!("min-height:{}px", chart.height)) {}
                figcaption { (caption) }
            }
        };
        self.charts.push(chart);
        markup
    }

    fn subject(
        &mut self,
        index: usize,
        subject: &Subject,
        matrix: Option<&Matrix>,
        precisions: &[Option<Precision>],
        papers: &[Subject],
    ) -> Markup {
        let id = |section: &str| format!("s{index}-{section}");
        let coherence = subject.coherence();
        html! {
            section.subject id=(format!("s{index}")) {
                h2 { (text::short(&subject.label, 80)) @if subject.published { " " small { "(published)" } } }
                (sections::summary(subject))
                @for (section, name) in sections::ALL {
                    section id=(id(section)) {
                        h3 { (name) }
                        @match section {
                            "host" => (tables::host(subject)),
                            "topology" => (sections::topology(subject, self.boxes)),
                            "pairs" => (self.pairs(&id("heat"), subject, matrix, precisions)),
                            "classes" => (self.classes(index, subject)),
                            "reads" => (self.reads(id("read-chart"), subject)),
                            "contention" => (contention::section(subject, &id("contention-chart"), |chart, caption| self.figure(chart, caption))),
                            "cpi" => (self.cpi(id("cpi-chart"), subject, papers)),
                            "stability" => (self.stability(id("time"), subject)),
                            "audit" => @match coherence {
                                Some(coherence) => (tables::contradictions(coherence)),
                                None => p.missing { "Not measured: the profile has no section coherence." },
                            },
                            "counters" => (counters::section(subject)),
                            "calls" => (calls::section(subject, &id("calls-chart"), |chart, caption| self.figure(chart, caption))),
                            "barriers" => (barriers::section(subject, &id("barrier-chart"), |chart, caption| self.figure(chart, caption))),
                            "programs" => (programs::section(subject, &id("program-chart"), |chart, caption| self.figure(chart, caption))),
                            "memory" => (memory::section(subject, &id("memory-chart"), |chart, caption| self.figure(chart, caption))),
                            "workloads" => (workloads::section(subject, &id("workload"), |chart, caption| self.figure(chart, caption))),
                            "choices" => (choices::section(subject)),
                            "idle" => (idle::section(subject)),
                            "paths" => (path::section(subject, &id("path-chart"), |chart, caption| self.figure(chart, caption))),
                            "missing" => (tables::not_available(subject)),
                            _ => @match coherence {
                                Some(coherence) => (tables::method(&coherence.method)),
                                None => p.missing { "Not measured: the profile has no section coherence." },
                            },
                        }
                    }
                }
            }
        }
    }

    fn pairs(
        &mut self,
        id: &str,
        subject: &Subject,
        matrix: Option<&Matrix>,
        precisions: &[Option<Precision>],
    ) -> Markup {
        let Some(matrix) = matrix else {
            return html! { p.missing { "Not measured: the profile has no pairs." } };
        };
        let left_out: Vec<String> = matrix
            .views
            .iter()
            .zip(precisions)
            .filter(|(_, precision)| precision.is_none())
            .map(|(view, _)| view.name())
            .collect();
        let mut methods: Vec<_> = matrix.views.iter().map(|view| view.method).collect();
        methods.dedup();
        let chart = charts::heat_map(id.to_owned(), matrix, precisions);
        let rounding = chart.as_ref().map_or(0.0, |(_, rounding)| *rounding);
        let caption = html! {
            strong { "Time of each pair of CPUs. " }
            "A cell is the median time of the CPUs of its row and column, in ns; colours are logarithmic, dark is near. "
            @for method in &methods {
                em { (classes::method_name(*method)) } ": " (classes::method_meaning(*method)) ". "
            }
            @if let Some(view) = matrix.views.first() { "n = " (view.measured()) " cells measured of " (view.ns.len()) ". " }
            "White lines bound groups, thicker ones wider groups. The outermost hundredth of times has the colours' ends. "
            @if matrix.cpus_per_cell > 1 { "Each cell is the median of up to " (matrix.cpus_per_cell) " × " (matrix.cpus_per_cell) " pairs. " }
            @if rounding > 1e-3 { "Times in this map are rounded by up to " (text::number(rounding * 100.0)) " % to keep the page small; the profile has them in full. " }
            @if !left_out.is_empty() { "Left out to keep the page small: " (left_out.join("; ")) "." }
        };
        html! {
            @match chart {
                Some((chart, _)) => {
                    (sections::controls(id, matrix, precisions))
                    (self.figure(chart, &caption))
                }
                None => p.missing { "Not drawn: the page would become too large. Make a report of this profile alone." },
            }
            (sections::pair_table(subject))
        }
    }

    fn classes(&mut self, index: usize, subject: &Subject) -> Markup {
        let Some(coherence) = subject.coherence() else {
            return html! { p.missing { "Not measured: the profile has no section coherence." } };
        };
        let found: Vec<(String, f64)> = coherence
            .classes
            .iter()
            .filter(|class| scale::is_time(class.ns.median))
            .take(12)
            .map(|class| (class.name.clone(), class.ns.median))
            .collect();
        let figures: Vec<Markup> = histogram::of(subject)
            .iter()
            .enumerate()
            .map(|(number, histogram)| {
                if !histogram.is_telling() {
                    return html! { p.missing { "No histogram of " (classes::method_name(histogram.method)) ": "
                        (text::count(histogram.pairs, "figure")) " only; see the table of pairs." } };
                }
                // Classes are found in strict alternation, or in the only method there is.
                let marks = if number == 0 { found.as_slice() } else { &[] };
                let chart = charts::histogram(format!("s{index}-classes-{number}"), histogram, marks);
                let caption = html! {
                    strong { "Pair times, " (classes::method_name(histogram.method)) ". " }
                    "How many pairs took how long, coloured by what is claimed of them, or by the groups found where nothing is; n = " (histogram.pairs) " pairs. "
                    @if !marks.is_empty() { "Dotted lines: medians of the classes that the figures show. " }
                    "Colours that mix in one heap, or one colour in two heaps, speak against the claim."
                };
                self.figure(chart, &caption)
            })
            .collect();
        html! {
            @if figures.is_empty() { p.missing { "Not measured: the profile has no pairs." } }
            @for figure in &figures { (figure) }
            (tables::found_classes(coherence))
        }
    }

    fn reads(&mut self, id: String, subject: &Subject) -> Markup {
        let lines = reads::of(subject);
        if lines.is_empty() {
            return html! { p.missing { "Not measured: the profile has no reads of prepared lines." } };
        }
        let molka = kawabe_furuya::figures().molka_2009;
        let caption = html! {
            strong { "Reads of lines in a known state. " }
            "Time per load of a dependent chain over a buffer that the owner has prepared, by size of the buffer; median over "
            "readers and owners, whose number is in the hover text. Colour: how near the owner is by the claims; dashes: state. "
            "Grey: Molka et al. (PACT 2009), state exclusive, Nehalem at 2.9 GHz, with which Kawabe & Furuya compares."
        };
        self.figure(charts::reads(id, &lines, &molka), &caption)
    }

    fn cpi(&mut self, id: String, subject: &Subject, papers: &[Subject]) -> Markup {
        let mine = match cpi::models(subject) {
            Ok(models) => models,
            Err(reason) => return html! { p.missing { "Not available: " (reason) "." } },
        };
        let method = mine.first().map(|model| model.line.method);
        let base = cpi::base();
        let published = papers.iter().filter_map(|paper| cpi::models(paper).ok()).flatten();
        let models: Vec<_> = mine.into_iter().chain(published).collect();
        let caption = html! {
            strong { "What coherence costs a program. " }
            "CPI = " (text::number(base)) " + events per instruction × cycles of the class (Kawabe & Furuya, Figs. 4 and 6). "
            @if let Some(method) = method {
                "Solid: this profile, by " em { (classes::method_name(method)) } " (" (classes::method_meaning(method)) "). "
            }
            "Dotted: published, by free-running increments"
            @if method.is_some_and(|method| method != PairMethod::FreeRunning) {
                ", which is another quantity: these lines are not to be compared"
            }
            ". `coho predict cpi --method turn` counts a change of ownership each."
        };
        self.figure(charts::cpi(id, &models), &caption)
    }

    fn stability(&mut self, id: String, subject: &Subject) -> Markup {
        sections::stability(subject, |chart, caption| self.figure(chart, caption), id)
    }

    fn beside(&mut self, subjects: &[Subject], papers: &[Subject]) -> Markup {
        let all: Vec<&Subject> = subjects.iter().chain(papers).collect();
        let paper = kawabe_furuya::figures();
        let bars = evolution::of(subjects, &paper);
        let measured = bars.iter().filter(|bar| !bar.published).count();
        let caption = html! {
            strong { "Coherence time on one die over generations of processors " } "(Kawabe & Furuya, Fig. 7): mean of the die's pairs, "
            "free-running, less the SMT pair's time. "
            @if measured == 0 {
                "None of these profiles has this figure: it takes free-running pairs that are claimed to share a die."
            } @else {
                "Free-running increments of today's CPUs happen many to an ownership, so shorter bars need not mean quicker transfers"
                @for (label, ns) in evolution::transfers(subjects) {
                    ": on " (text::short(&label, 40)) " a transfer (turn) takes " (text::number(ns)) " ns"
                }
                "."
            }
        };
        let chart = charts::evolution("evolution".to_owned(), &bars);
        html! {
            section id="beside" {
                h2 { "Beside the published figures" }
                h3 { "Tables 1 and 2" }
                p { "Kawabe & Furuya (" (paper.source) "): free-running locked increments. A coherence time is the mean of its pairs "
                    "less the time of an SMT pair, or of one CPU where there is none. A dash: not measured, or not told." }
                (tables::paper_tables(&all))
                h3 { "Evolution" }
                (self.figure(chart, &caption))
                @if workloads::wanted(subjects) {
                    (workloads::article(|chart, caption| self.figure(chart, caption)))
                }
                (path::paper(|chart, caption| self.figure(chart, caption)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_drawing_library_is_taken_from_the_crate() {
        let script = plotly_script();
        assert!(script.contains("plotly.js v"));
        assert!(!script.contains("</script"));
        assert!(script.len() < 5_000_000, "{}", script.len());
    }

    #[test]
    fn json_cannot_end_its_script() {
        let hostile = serde_json::json!({ "name": "</script><!--<script>" });
        let text = in_script(&hostile);
        assert!(!text.contains('<'));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), hostile);
    }
}
