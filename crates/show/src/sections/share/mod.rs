//! What it costs a program that its threads share cache lines.

mod lines;

use coho_model::share::control_that_loses;
use coho_profile::{Estimate, Share};

use crate::sections::prelude::*;
pub use lines::patches;
pub(crate) use lines::{is_nothing, kind};

pub(super) const ENTRY: Entry = Entry { id: "share", title: "Lines that a program shares", of: section };

/// What the total holds beside lines that go back and forth.
const HOLDS: &str = "It holds lines that go back and forth, data that one CPU hands to another once, and what CPUs at \
                     work together lack in memory bandwidth and cache.";

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let share = subject.profile.share.as_ref()?;
    let mut section = ENTRY.section(headline(share));
    section.summary(Text::new(sentence(share)));
    section.summary(share.total.share_of_cpu_time.is_some().then(|| Text::new(HOLDS)));
    lines::add(&mut section, subject, share);
    section.summary(figures(subject, share));
    section.detail(compared(subject, share));
    method::add(&mut section.parts, "share-method", &share.method);
    Some(section)
}

fn headline(share: &Share) -> String {
    let name = words::short(&share.command.join(" "), 40);
    match &share.total.share_of_cpu_time {
        Some(cost) if control_that_loses(&share.total).is_some() => {
            format!("{name}: {} of its CPU time", between(cost))
        }
        Some(cost) => format!("{name}: {} of its CPU time", percent(cost)),
        None => format!("{name}: not known"),
    }
}

/// What sharing costs, or why that cannot be told.
fn sentence(share: &Share) -> String {
    let total = &share.total;
    let cpus = words::count(share.cpus.len(), "CPU");
    let Some(cost) = &total.share_of_cpu_time else {
        let why = total.why_not.as_deref().unwrap_or("the profile does not say why");
        return format!("What sharing lines costs cannot be told: {why}.");
    };
    if let Some(control) = control_that_loses(total) {
        return format!(
            "On {cpus}, {} of the CPU time goes into what its threads share. A loop that shares nothing loses {} \
             there, as on threads of one core, and the program may lose as much without sharing, or nothing.",
            between(cost),
            percent(control)
        );
    }
    if cost.low <= 0.0 && cost.median < LEAST {
        return format!("On {cpus}, sharing costs nothing that shows: {} of the CPU time.", percent(cost));
    }
    format!("On {cpus}, {} of the CPU time goes into what its threads share.", percent(cost))
}

/// A cost below this, whose interval holds 0, is none.
const LEAST: f64 = 0.03;

/// `31 % (28–34)`.
pub(crate) fn percent(share: &Estimate) -> String {
    let of = |share: f64| format!("{:.0}", 100.0 * share + 0.0).replace("-0", "0");
    if !share.has_interval() {
        return format!("{} %", of(share.median));
    }
    let to = if share.low < 0.0 { " to " } else { "–" };
    format!("{} % ({}{to}{})", of(share.median), of(share.low), of(share.high))
}

/// `between 28 and 34 %`.
fn between(share: &Estimate) -> String {
    let [low, high] = [share.low, share.high].map(|share| format!("{:.0}", 100.0 * share.max(0.0)));
    if share.low > 0.0 { format!("between {low} and {high} %") } else { format!("at most {high} %") }
}

/// For `compare`: the total.
fn compared<'a>(subject: &'a Subject, share: &'a Share) -> TableOf<&'a Share> {
    let known = share.total.share_of_cpu_time.iter().map(|_| share);
    Table::of("share-total", "", known)
        .text("", |_| "sharing")
        .compared("share of the CPU time", "", "cost", |share| {
            subject.figure_of(&share.total.share_of_cpu_time)
        })
        .keyed(|share| {
            let command = words::short(&share.command.join(" "), 80);
            (format!("share.{command}"), format!("share of the CPU time of {command} that sharing costs"))
        })
}

/// A run on all CPUs and on one.
fn figures<'a>(
    subject: &'a Subject,
    share: &'a Share,
) -> Option<TableOf<(&'static str, &'a Option<Estimate>)>> {
    let total = &share.total;
    let rows = [("on all CPUs", &total.cpu_s), ("on one", &total.one_cpu_s)];
    let rows: Vec<_> = rows.into_iter().filter(|(_, seconds)| seconds.is_some()).collect();
    let control = total.control.as_ref().map(percent);
    let control =
        control.map(|control| format!("A loop that shares nothing loses {control} in the same rounds."));
    (!rows.is_empty()).then(|| {
        let table = Table::of("share", "", rows)
            .text("threads", |(name, _)| name)
            .compared("CPU time", "s", "cpu_s", |(_, seconds)| subject.figure_of(seconds))
            .keyed(|(name, _)| {
                let command = words::short(&share.command.join(" "), 80);
                (format!("share.{command}.{name}"), format!("CPU time of {command} {name}"))
            });
        match control {
            Some(control) => table.note(control),
            None => table,
        }
    })
}

#[cfg(test)]
mod tests {
    use coho_profile::{Profile, ShareTotal};

    use super::*;
    use crate::part::Body;

    fn told(total: ShareTotal) -> String {
        let share = Share { command: vec!["./a".into()], cpus: vec![0, 1], total, ..Share::default() };
        let profile = Profile { share: Some(share), ..Profile::default() };
        let section = section(&Subject::new("mine", profile)).unwrap();
        let texts = section.parts.iter().filter_map(|part| match &part.body {
            Body::Text(text) => Some(text.text.clone()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join(" ")
    }

    fn cost(median: f64, low: f64, high: f64) -> ShareTotal {
        let estimate = Estimate { low, high, min: low, n: 8, ..Estimate::exact(median) };
        ShareTotal { share_of_cpu_time: Some(estimate), ..ShareTotal::default() }
    }

    #[test]
    fn a_cost_comes_with_what_it_holds_and_none_without_its_reason() {
        let known = told(cost(0.31, 0.28, 0.34));
        assert!(
            known.contains("31 % (28–34) of the CPU time goes") && known.contains("bandwidth"),
            "{known}"
        );
        let none = told(cost(0.004, -0.02, 0.012));
        assert!(none.contains("nothing that shows: 0 % (-2 to 1)"), "{none}");
        let control = Some(Estimate { low: 0.18, high: 0.24, n: 8, ..Estimate::exact(0.2) });
        let bounded = told(ShareTotal { control: control.clone(), ..cost(0.3, 0.26, 0.42) });
        assert!(bounded.contains("between 26 and 42 % of the CPU time goes"), "{bounded}");
        assert!(bounded.contains("loses 20 % (18–24) there"), "{bounded}");
        let bounded = told(ShareTotal { control, ..cost(0.1, -0.02, 0.2) });
        assert!(bounded.contains("at most 20 % of the CPU time goes"), "{bounded}");
        let withheld = told(ShareTotal { why_not: Some("its threads spin".into()), ..ShareTotal::default() });
        assert!(withheld.ends_with("cannot be told: its threads spin."), "{withheld}");
        assert!(!withheld.contains('%'), "{withheld}");
    }
}
