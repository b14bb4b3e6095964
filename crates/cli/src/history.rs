//! The headline figures of this host's surveys, kept so that the next one knows whether the host moves its CPUs.

use std::time::{SystemTime, UNIX_EPOCH};

use coho_model::history::{self, Log, Survey, recall};
use coho_platform::identity::Identity;
use coho_platform::kept;
use coho_profile::{Coherence, History, Host};
use coho_run::doctor::Moves;

/// The history's name in the folder where coho keeps its state.
const NAME: &str = "history.json";
/// The size limit; a full log takes a tenth of it.
const MOST_BYTES: u64 = 4 << 20;

/// Whether to look at earlier surveys.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Choice {
    /// Neither compare with earlier surveys of this host nor record this one's main figures
    #[arg(long)]
    pub no_history: bool,
}

/// Compares fresh figures of this host with earlier surveys, and stores them for the next one if they were measured
/// to the end. A history that cannot be used is named and left alone; it never causes a failure.
pub fn meet(coherence: &mut Coherence, host: &Host) {
    if let Err(why) = compared(coherence, host) {
        coherence.method.not_available.insert("history".into(), why);
    }
}

fn compared(coherence: &mut Coherence, host: &Host) -> Result<(), String> {
    let at_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let Some(now) = Survey::of(coherence, of_host(host)?, at_s) else { return Ok(()) };
    let mut earlier = Vec::new();
    let read = |text: Option<&str>| match text {
        Some(text) => Log::parse(text).map_err(|why| why.to_string()),
        None => Ok(Log::default()),
    };
    let outcome = if coherence.method.interrupted {
        let text = kept::read(NAME, MOST_BYTES).map_err(|error| error.to_string());
        text.and_then(|text| read(text.as_deref())).map(|log| earlier = log.surveys().to_vec())
    } else {
        let add = |text: Option<&str>| {
            let mut log = read(text)?;
            earlier = log.surveys().to_vec();
            log.add(now.clone());
            serde_json::to_string(&log).map_err(|error| error.to_string())
        };
        kept::update(NAME, MOST_BYTES, add).map_err(|error| error.to_string())
    };
    // What could be read counts, even if this survey cannot be added.
    let recalled = recall(&now, &earlier, host.hypervisor.is_some());
    coherence.history = Some(recalled.history);
    coherence.notes.extend(recalled.words);
    outcome
}

/// How the kept surveys of this host compare with the latest of them; `None` if fewer than two are kept.
///
/// # Errors
/// If what is kept cannot be read.
pub fn moves(host: &Host) -> Result<Option<Moves>, String> {
    let of = of_host(host)?;
    let Some(text) = kept::read(NAME, MOST_BYTES).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    let log = Log::parse(&text).map_err(|why| why.to_string())?;
    Ok(compared_with_the_latest(log.surveys(), &of))
}

fn compared_with_the_latest(surveys: &[Survey], of: &history::Host) -> Option<Moves> {
    let own: Vec<Survey> = surveys.iter().filter(|survey| survey.host == *of).cloned().collect();
    let (latest, earlier) = own.split_last()?;
    let History { surveys, disagree, .. } = recall(latest, earlier, true).history;
    (surveys > 0).then_some(Moves { surveys, differ: disagree })
}

fn of_host(host: &Host) -> Result<history::Host, String> {
    let Identity { machine, boot } = Identity::of_this_machine();
    let boot = boot.ok_or("the kernel gives no boot ID, so surveys since this boot cannot be recognised")?;
    Ok(history::Host {
        machine: machine.unwrap_or_default(),
        boot,
        cpu: host.cpu.clone().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use coho_profile::{Estimate, Home, PairMethod};

    use super::*;

    fn survey(boot: &str, ns: f64) -> Survey {
        let ns = Estimate { low: 0.99 * ns, high: 1.01 * ns, n: 40, ..Estimate::exact(ns) };
        Survey {
            host: history::Host { boot: boot.into(), ..history::Host::default() },
            at_s: 0,
            cpus: "0-1".into(),
            method: PairMethod::Turn,
            home: Home::A,
            pairs: "all".into(),
            steps_ns: BTreeMap::from([(String::new(), ns)]),
        }
    }

    #[test]
    fn the_latest_survey_since_boot_is_compared_with_those_before_it() {
        let of = survey("now", 1.0).host;
        let told = |surveys: &[Survey]| compared_with_the_latest(surveys, &of);
        assert_eq!(told(&[]), None);
        assert_eq!(told(&[survey("before", 30.0), survey("now", 30.0)]), None, "another boot");
        let moved = [survey("now", 30.0), survey("now", 130.0), survey("before", 130.0), survey("now", 31.0)];
        assert_eq!(told(&moved), Some(Moves { surveys: 2, differ: 1 }));
    }
}
