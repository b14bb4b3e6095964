//! What workloads met on the page: what the CPUs of a pair take from each other, another build beside ours, the clock.

use coho_profile::{Estimate, SharedKernel, WorkloadPeer, Workloads};
use maud::{Markup, html};

use super::charts::{self, Chart};
use super::text;

/// Rows of one table, at most: a profile may bring any number.
const MOST: usize = 300;

/// Below the results of a profile's workloads. `figure` gives a chart its place.
pub fn section(workloads: &Workloads, id: &str, mut figure: impl FnMut(Chart, &Markup) -> Markup) -> Markup {
    let clock = charts::clock(format!("{id}-clock"), &workloads.clock, &workloads.temperature).map(|chart| {
        let caption = html! {
            strong { "The clock meanwhile. " }
            "Effective clock of the CPUs that a sample used, right after it: by chains of dependent additions and of exclusive-ors, "
            "which must agree. n = " (workloads.clock.len()) ". "
            @if !workloads.temperature.is_empty() { "Right: the CPU's hottest sensor. " }
        };
        figure(chart, &caption)
    });
    html! {
        (kernels(&workloads.sharing))
        (peers(&workloads.peers))
        @if let Some(clock) = &clock { (clock) }
    }
}

fn cell(estimate: &Option<Estimate>) -> Markup {
    html! { td.number { (estimate.as_ref().map_or("–".to_owned(), text::estimate)) } }
}

fn kernels(sharing: &[SharedKernel]) -> Markup {
    html! { @if !sharing.is_empty() {
        h4 { "What the CPUs of a pair take from each other" }
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Kernel" } th scope="col" { "Pair" } th scope="col" { "Alone, 10⁹ steps/s" }
                th scope="col" { "Together" } th scope="col" { "Together / alone (95 %)" } th scope="col" { "Pairs" }
            } }
            tbody { @for row in sharing.iter().take(MOST) {
                tr {
                    th scope="row" { (text::short(&row.kernel, 40)) }
                    td { (text::short(&row.pair_class, 40)) }
                    (cell(&row.alone_per_ns)) (cell(&row.together_per_ns))
                    td.number { (row.ratio.as_ref().map_or("–".to_owned(), text::ratio)) }
                    td { (pairs(&row.pairs)) }
                }
            } }
        } }
        p.note { "The same kernel on both CPUs over the same time: 1 where nothing is shared, 0.5 where all is. Integer: independent "
            "multiplications; floating-point: independent multiplications and additions; cache-resident: dependent loads from three "
            "quarters of the level-2 cache." }
    } }
}

fn pairs(pairs: &[[u32; 2]]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<_> = pairs.iter().take(SHOWN).map(|[a, b]| format!("{a}–{b}")).collect();
    shown.join(", ") + if pairs.len() > SHOWN { ", …" } else { "" }
}

fn peers(peers: &[WorkloadPeer]) -> Markup {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    html! { @if !peers.is_empty() {
        h4 { "Beside another build" }
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Test" } th scope="col" { "Theirs (95 %)" } th scope="col" { "Ours (95 %)" }
                th scope="col" { "Theirs / ours" } th scope="col" { "Within" } th scope="col" { "Agrees?" }
            } }
            tbody { @for peer in peers.iter().take(MOST) {
                tr {
                    th scope="row" { (text::short(&peer.test, 60))
                        @if let Some(why) = &peer.not_available { div.reason { (text::short(&text::reason(why), 300)) } } }
                    (cell(&peer.value)) (cell(&peer.ours))
                    td.number { (peer.ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.3}"))) }
                    td.number { (peer.tolerance.map_or("–".to_owned(), percent)) }
                    td { @match peer.agrees { Some(true) => "yes", Some(false) => "no", None => "–" } }
                }
            } }
        } }
        p.note { "Run in turn on one CPU; rates by the CPU time that they got, but for context switching. Within 3 %, or twice the median absolute deviation where that is more." }
    } }
}

#[cfg(test)]
mod tests {
    use coho_profile::{ClockPoint, TemperaturePoint};

    use super::*;

    fn workloads() -> Workloads {
        Workloads {
            sharing: vec![SharedKernel {
                kernel: "floating-point".into(),
                pair_class: "<module>".into(),
                pairs: vec![[0, 1]; 9],
                ratio: Some(Estimate::exact(0.51)),
                ..SharedKernel::default()
            }],
            peers: vec![
                WorkloadPeer {
                    test: "execl".into(),
                    ratio: Some(1.013),
                    tolerance: Some(0.03),
                    agrees: Some(true),
                    ..WorkloadPeer::default()
                },
                WorkloadPeer {
                    test: "shell_1".into(),
                    not_available: Some("there is no looper".into()),
                    ..WorkloadPeer::default()
                },
            ],
            clock: vec![
                ClockPoint { at_s: 1.0, cpu: 3, ghz: 3.2 },
                ClockPoint { at_s: 2.0, cpu: 4, ghz: f64::NAN },
            ],
            temperature: vec![TemperaturePoint { at_s: 1.0, celsius: 51.0 }],
            ..Workloads::default()
        }
    }

    #[test]
    fn sharing_agreement_and_clock_are_shown() {
        let mut charts = Vec::new();
        let page = section(&workloads(), "s0", |chart, caption| {
            charts.push(chart);
            caption.clone()
        });
        let page = page.into_string();
        for text in ["floating-point", "0.51", "0–1", ", …", "1.013", "3.0 %", "there is no looper", "n = 2"]
        {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert!(page.contains("&lt;module&gt;") && !page.contains("<module>"));
        // What is no clock is no point.
        let text = charts[0].json.to_string();
        assert!(text.contains("CPU 3") && !text.contains("CPU 4") && text.contains("51"), "{text}");
    }

    #[test]
    fn a_section_without_any_shows_nothing() {
        let page = section(&Workloads::default(), "s0", |_, caption| caption.clone());
        assert_eq!(page.into_string(), "");
    }
}
