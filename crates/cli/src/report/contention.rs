//! The page's section on CPUs at once on one line.

use coho_profile::{Contention, ContentionRow, Estimate, published};
use maud::{Markup, html};

use super::charts::Chart;
use super::charts::sync::{Series, Sizes, Style, by_size};
use super::subject::Subject;
use super::{calls, tables, text};

/// Rows of the table, at most: a profile may bring any number.
const MOST: usize = 400;

/// How the published pairs were measured in another way than `add` by two CPUs.
pub const PAIRS_DIFFER: &str = "The published pairs are free-running increments, as add by 2 CPUs, but each thread's ten \
    million were timed as a whole; here only the time counts in which both CPUs are at work, batch by batch.";

/// Kawabe & Furuya's pairs of free-running increments, a line for each machine.
pub fn published_pairs() -> Vec<String> {
    let machine = |machine: &published::kawabe_furuya::Machine| {
        let places = [
            ("threads of a core", Some(machine.smt_pair)),
            ("cores of a die", Some(machine.on_die_mean)),
            ("one hop", Some(machine.hop1_mean)),
            ("two hops", machine.hop2_mean),
        ];
        let told =
            places.iter().filter_map(|(place, ns)| Some(format!("{place} {} ns", text::number((*ns)?))));
        let told: Vec<_> = told.collect();
        format!("Kawabe & Furuya, {}: {}", machine.name, told.join(", "))
    };
    published::kawabe_furuya::figures().machine.iter().map(machine).collect()
}

/// A profile's contention. `figure` gives a chart its place.
pub fn section(subject: &Subject, id: &str, mut figure: impl FnMut(Chart, &Markup) -> Markup) -> Markup {
    let Some(contention) = &subject.profile.contention else {
        return html! { p.missing { "Not measured: the profile has no section contention." } };
    };
    let series = series(contention);
    let cpus = Sizes { title: "CPUs at once (logarithmic)", all: true, tick: |n| n.to_string() };
    let chart = series.iter().any(|one| one.points.len() > 1).then(|| {
        let caption = html! {
            strong { "Operations a second of all CPUs together, on one line. " }
            "Solid: the nearest CPUs; dashed: the farthest, where the two differ."
        };
        let title = "Operations on one line by number of CPUs";
        figure(by_size(id.to_owned(), title, &cpus, "10⁶ a second (logarithmic)", &series), &caption)
    });
    html! {
        @if let Some(chart) = &chart { (chart) }
        @if !contention.rows.is_empty() {
            div.scroll { table.figures {
                thead { tr {
                    th scope="col" { "Operation" } th scope="col" { "CPUs" } th scope="col" { "ns (95 % interval)" }
                    th scope="col" { "10⁶ a second" } th scope="col" { "× alone" } th scope="col" { "failed" }
                    th scope="col" { "least/most" } th scope="col" { "Jain" } th scope="col" { "shares" }
                    th scope="col" { "preempted" }
                } }
                tbody { @for one in contention.rows.iter().take(MOST) { (row(one)) } }
            } }
            p.note { "ns: one operation of one CPU, the mean over the CPUs. Failed: attempts for each that succeeded. Fairness within "
                "a batch: operations of the CPU that did least over those of the one that did most, and Jain's index, 1 if all did "
                "as much. Shares: the least and the greatest of all batches together." }
            ul.notes { @for pairs in published_pairs() { li { (pairs) } } }
            p.note { (PAIRS_DIFFER) }
        }
        (calls::missing(&contention.method.not_available))
        details { summary { "How contention was measured" } (tables::method(&contention.method)) }
    }
}

fn row(row: &ContentionRow) -> Markup {
    let told = |of: &Option<Estimate>, scale: f64| {
        of.as_ref().map_or("–".to_owned(), |of| text::scaled(of, scale))
    };
    let shares = row.shares.iter().fold(None, |ends: Option<(f64, f64)>, &share| {
        Some(ends.map_or((share, share), |(least, most)| (least.min(share), most.max(share))))
    });
    html! { tr {
        th scope="row" { (row.operation) }
        td { (tables::cpu_list(&row.cpus)) @if row.cpus.len() > 1 { " " small { (text::short(&row.mapping, 40)) } } }
        td.number { (told(&row.ns, 1.0)) }
        td.number { (told(&row.operations_per_s, 1e-6)) }
        td.number { (told(&row.times_alone, 1.0)) }
        td.number { (row.failures_per_success.as_ref().map_or("–".to_owned(), text::ratio)) }
        td.number { (row.least_over_most.as_ref().map_or("–".to_owned(), text::ratio)) }
        td.number { (row.jain.as_ref().map_or("–".to_owned(), text::ratio)) }
        td.number { (shares.map_or("–".to_owned(), |(least, most)| format!("{least:.3}–{most:.3}"))) }
        td.number { (row.preempted_batches) }
    } }
}

/// A line for each operation and mapping; one CPU alone begins them all.
fn series(contention: &Contention) -> Vec<Series> {
    let rows =
        || contention.rows.iter().filter_map(|row| Some((row, row.operations_per_s.as_ref()?.median / 1e6)));
    let mut keys: Vec<_> = rows()
        .filter(|(row, _)| row.cpus.len() > 1)
        .map(|(row, _)| (row.operation, row.mapping.clone()))
        .collect();
    keys.sort_by(|a, b| (a.0, b.1.as_str()).cmp(&(b.0, a.1.as_str())));
    keys.dedup();
    let line = |(operation, mapping): &(_, String)| {
        let mine = |row: &ContentionRow| {
            row.operation == *operation && (row.cpus.len() == 1 || row.mapping == *mapping)
        };
        let mut points: Vec<_> =
            rows().filter(|(row, _)| mine(row)).map(|(row, rate)| (row.cpus.len() as f64, rate)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let name = format!("{operation}, {}", text::short(mapping, 40));
        let hover =
            |(n, rate): &(f64, f64)| format!("{name}: {} · 10⁶ a second by {n} CPUs", text::number(*rate));
        let hover = points.iter().map(hover).collect();
        let style = if mapping == "binary-tree" { Style::Dashed } else { Style::Solid };
        Series { name: name.clone(), colour: *operation as usize, style, points, hover }
    };
    keys.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use coho_profile::{LineOperation, Profile};

    use super::*;

    fn page(contention: Option<Contention>) -> (String, usize) {
        let profile = Profile { contention, ..Profile::default() };
        let mut charts = 0;
        let page = section(&Subject::of_file("mine.json".as_ref(), profile), "s0-contention", |_, _| {
            charts += 1;
            html! {}
        });
        (page.into_string(), charts)
    }

    fn row(cpus: u32, mapping: &str) -> ContentionRow {
        ContentionRow {
            operation: LineOperation::CompareAndSwap,
            mapping: mapping.into(),
            cpus: (0..cpus).collect(),
            ns: Some(Estimate::exact(81.25)),
            operations_per_s: Some(Estimate::exact(12.5e6)),
            times_alone: (cpus > 1).then(|| Estimate::exact(16.2)),
            shares: vec![1.0 / f64::from(cpus); cpus as usize],
            jain: Some(Estimate::exact(0.625)),
            least_over_most: Some(Estimate::exact(0.375)),
            failures_per_success: Some(Estimate::exact(0.75)),
            preempted_batches: 3,
        }
    }

    #[test]
    fn time_throughput_and_fairness_stand_beside_the_published_pairs() {
        let rows = vec![row(1, "sequential"), row(4, "sequential"), row(4, "binary-tree")];
        let contention = Contention { rows, ..Contention::default() };
        let lines = series(&contention);
        let told: Vec<_> =
            lines.iter().map(|line| (line.name.as_str(), line.points.len(), line.style)).collect();
        let name = |mapping: &str| format!("compare-and-swap, {mapping}");
        assert_eq!(
            told,
            [(&name("sequential")[..], 2, Style::Solid), (&name("binary-tree")[..], 2, Style::Dashed)]
        );
        let (page, charts) = page(Some(contention));
        assert_eq!(charts, 1);
        for text in [
            "81.2",
            "12.5",
            "16.2",
            "0.62",
            "0.38",
            "0.75",
            "0.250–0.250",
            "0-3",
            "E5620",
            "38.5 ns",
            "ten million",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }

    #[test]
    fn one_cpu_has_a_row_and_no_chart() {
        let (page, charts) =
            page(Some(Contention { rows: vec![row(1, "sequential")], ..Contention::default() }));
        assert!(charts == 0 && page.contains("81.2"), "{page}");
    }

    #[test]
    fn without_the_section_nothing_is_pretended() {
        assert!(page(None).0.contains("no section contention"));
    }
}
