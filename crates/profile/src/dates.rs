//! When each part of a profile was measured: one file may hold runs of several days.

use crate::{Method, Profile};

/// A section, or a part of one that has its own method, and the date of the run that measured it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dated<'a> {
    /// The section's name in the file: `memory`.
    pub section: &'static str,
    /// Which part of the section, where its parts come from several runs: `transfers`; empty for the section
    /// itself.
    pub part: String,
    /// As [`Method::date`].
    pub date: Option<&'a str>,
}

impl Profile {
    /// All measured sections in the file's order, each followed by its parts, with their dates. Commands under
    /// placements are left out: each has its own date.
    pub fn dates(&self) -> Vec<Dated<'_>> {
        let methods = self.sections().flat_map(|(name, section)| {
            let whole = section.method().map(|method| (String::new(), method));
            whole.into_iter().chain(section.parts()).map(move |(part, method)| (name, part, method))
        });
        // A method that only gives reasons for missing figures belongs to no run.
        let was_measured = |method: &Method| method.date.is_some() || !method.description.is_empty();
        let all = methods.filter(|(.., method)| was_measured(method));
        all.map(|(section, part, method)| Dated { section, part, date: method.date.as_deref() }).collect()
    }

    /// The parts that the file's last run did not measure: their date differs from the host's, or is missing.
    /// Empty for a profile that does not say when its last run was.
    pub fn not_of_last_run(&self) -> Vec<Dated<'_>> {
        let Some(last) = self.host.as_ref().and_then(|host| host.date.as_deref()) else { return Vec::new() };
        let mut all = self.dates();
        all.retain(|part| part.date != Some(last));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counters, Host, Idle, Kernel, Memory, Sync};

    fn of(date: Option<&str>) -> Method {
        Method { date: date.map(str::to_owned), ..Method::default() }
    }

    #[test]
    fn what_the_last_run_did_not_measure_is_named_with_its_date() {
        let (old, new) = (Some("2026-11-20T10:00:00Z"), Some("2026-11-24T22:00:48Z"));
        let kernel = Kernel { method: of(old), ..Kernel::default() };
        let mut memory = Memory { method: of(new), ..Memory::default() };
        memory.earlier =
            vec![crate::EarlierParts { parts: vec!["dma".into(), "latency".into()], method: of(old) }];
        let mut profile = Profile {
            host: Some(Host { date: new.map(str::to_owned), ..Host::default() }),
            idle: Some(Idle {
                method: Method { description: "Waking.".into(), ..of(None) },
                ..Idle::default()
            }),
            counters: Some(Counters { method: of(None), ..Counters::default() }),
            sync: Some(Sync {
                method: of(new),
                kernels: [("weather".to_owned(), kernel)].into(),
                ..Sync::default()
            }),
            memory: Some(memory),
            ..Profile::default()
        };
        let named: Vec<_> = profile
            .not_of_last_run()
            .into_iter()
            .map(|one| (one.section, one.part, one.date.map(str::to_owned)))
            .collect();
        let old = old.map(str::to_owned);
        let expected = [
            ("sync", "weather".to_owned(), old.clone()),
            ("memory", "dma, latency".to_owned(), old),
            ("idle", String::new(), None),
        ];
        assert_eq!(named, expected);
        profile.host = None;
        assert!(profile.not_of_last_run().is_empty(), "a paper's run has no date");
    }
}
