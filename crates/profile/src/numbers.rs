//! Rejects profiles with CPU numbers that no kernel assigns: such a profile is damaged.

use coho_topology::MAX_CPUS;

use crate::{Coherence, Error, Idle, Profile, Runs};

impl Profile {
    /// # Errors
    /// If a CPU has an impossible number.
    pub(crate) fn check_cpus(&self) -> Result<(), Error> {
        let pus = self.topology.iter().flat_map(|section| &section.topology.pus).map(|pu| pu.os);
        let allowed = self.host.iter().flat_map(|host| &host.allowed_cpus).copied();
        let contending =
            self.contention.iter().flat_map(|section| &section.rows).flat_map(|row| &row.cpus).copied();
        let coherence = self.coherence.iter().flat_map(of_coherence);
        let idle = self.idle.iter().flat_map(of_idle);
        let runs = self.run.iter().flat_map(of_runs);
        let mut all = pus.chain(allowed).chain(contending).chain(coherence).chain(idle).chain(runs);
        match all.find(|cpu| *cpu >= MAX_CPUS) {
            Some(cpu) => Err(Error::new(format!("CPU number {cpu} is not below {}", MAX_CPUS))),
            None => Ok(()),
        }
    }
}

fn of_coherence(coherence: &Coherence) -> impl Iterator<Item = u32> + '_ {
    let pairs = coherence.pairs.iter().flat_map(|pair| [pair.a, pair.b]);
    let reads = coherence.reads.iter().flat_map(|read| [read.reader, read.owner]);
    let watched = coherence.timeline.iter().flat_map(|timeline| [timeline.a, timeline.b]);
    let singles = coherence.singles.iter().map(|single| single.cpu);
    coherence.cpus.iter().copied().chain(pairs).chain(reads).chain(watched).chain(singles)
}

fn of_idle(idle: &Idle) -> impl Iterator<Item = u32> + '_ {
    let woken = idle.wakeups.iter().flat_map(|wakeup| [Some(wakeup.cpu), wakeup.from]).flatten();
    let states = idle.states.iter().flat_map(|state| state.cpus.iter().chain(&state.disabled_on)).copied();
    let governed = idle.frequency.governors.values().flatten().copied();
    woken.chain(states).chain(governed).chain(idle.resume_latency_us.keys().copied())
}

fn of_runs(runs: &Runs) -> impl Iterator<Item = u32> + '_ {
    let trials = runs.commands.values().flat_map(|trial| {
        trial.placements.iter().flat_map(|placement| &placement.cpus).chain(&trial.allowed_cpus)
    });
    trials.chain(runs.live.values().flat_map(|live| &live.allowed_cpus)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_cannot_be_is_refused_by_its_number() {
        for section in [
            r#""host":{"allowed_cpus":[0,4294967295]}"#,
            r#""idle":{"wakeups":[{"by":"timer","cpu":4294967295}]}"#,
            r#""coherence":{"cpus":[0,4294967295]}"#,
        ] {
            let text = format!(r#"{{"schema":"coho-profile/1",{section}}}"#);
            let error = Profile::from_json(&text).unwrap_err().to_string();
            assert!(error.contains("CPU number 4294967295 is not below"), "{error}");
            assert!(Profile::from_json(&text.replace("4294967295", "4095")).is_ok());
        }
    }
}
