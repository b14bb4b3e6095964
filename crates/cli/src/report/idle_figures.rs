//! The figures of waking CPUs that can be set beside another profile's.

use std::collections::BTreeMap;

use coho_profile::{Estimate, Wakeup};

use super::figures::{Figure, Key, middle};
use super::subject::Subject;

/// The table in the order of comparisons: behind memory.
const IDLE: u8 = 8;

/// Ways to wake, in the order of the section.
const BY: [&str; 3] = ["timer", "futex", "pipe"];

/// Figures of the section: of all CPUs that slept as long and were woken alike, the median.
pub fn of(subject: &Subject) -> Vec<Figure> {
    let Some(idle) = &subject.profile.idle else { return Vec::new() };
    let mut grouped: BTreeMap<(usize, u64, &str, &str), Vec<&Estimate>> = BTreeMap::new();
    for wakeup in &idle.wakeups {
        let Wakeup { by, slept_us, under, ns: Some(ns), .. } = wakeup else { continue };
        let row = BY.iter().position(|known| known == by).unwrap_or(BY.len());
        let under = under.as_deref().unwrap_or_default();
        grouped.entry((row, *slept_us, by, under)).or_default().push(ns);
    }
    let mut figures = Vec::new();
    for (index, ((_, slept_us, by, under), estimates)) in grouped.into_iter().enumerate() {
        let (id, words) = match under {
            "" => (String::new(), String::new()),
            under => (format!(".{}", under.to_ascii_lowercase().replace(' ', "-")), format!(", {under}")),
        };
        let id = format!("idle.wakeup.{by}.{slept_us}{id}");
        let label = format!("woken by {by} after {slept_us} us{words}");
        figures.extend(middle(subject, Key::new(IDLE, index, id, label, "ns"), &estimates));
    }
    figures
}

#[cfg(test)]
mod tests {
    use coho_profile::Idle;

    use super::*;

    #[test]
    fn cpus_that_slept_alike_are_one_figure() {
        let wakeup = |cpu, by: &str, slept_us, ns: f64, under: Option<&str>| Wakeup {
            by: by.into(),
            cpu,
            slept_us,
            ns: Some(Estimate { low: ns - 50.0, high: ns + 50.0, n: 40, ..Estimate::exact(ns) }),
            under: under.map(str::to_owned),
            ..Wakeup::default()
        };
        let mut subject = Subject::load("published:kawabe-furuya/e5620").unwrap().remove(0);
        subject.published = false;
        subject.profile.idle = Some(Idle {
            wakeups: vec![
                wakeup(0, "timer", 1000, 3000.0, None),
                wakeup(1, "timer", 1000, 5000.0, None),
                wakeup(0, "timer", 50, 2000.0, None),
                wakeup(0, "futex", 1000, 9000.0, Some("C6 disabled")),
                Wakeup { by: "pipe".into(), ..Wakeup::default() },
            ],
            ..Idle::default()
        });
        let found = of(&subject);
        let told: Vec<_> = found.iter().map(|figure| (&*figure.key.id, figure.value, figure.n)).collect();
        let expected = [
            ("idle.wakeup.timer.50.ns", 2000.0, 1),
            ("idle.wakeup.timer.1000.ns", 4000.0, 2),
            ("idle.wakeup.futex.1000.c6-disabled.ns", 9000.0, 1),
        ];
        assert_eq!(told, expected);
        assert_eq!(found[1].interval, Some((3950.0, 4050.0)));
    }
}
