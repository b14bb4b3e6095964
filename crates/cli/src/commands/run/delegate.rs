//! Programs whose system calls another core executes: which calls, on which CPUs, and whether that pays.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use coho_model::delegation::gaining;
use coho_profile::Profile;
use coho_run::delegation::{self, Division, HostCpus, List, NAMES, NoHost, Way};
use coho_run::trial::Candidate;
use coho_run::{Signals, preload};
use coho_show::sections::trials;
use coho_show::words;
use coho_topology::CpuSet;

use super::chosen::{Chosen, measured, named};
use super::{Args, Machine, Placement, job, tried};
use crate::arguments;
use crate::printed::How;
use crate::results::Stopped;

/// How long accepted writes stay undone at most, by default.
const FLUSH: Duration = Duration::from_millis(1);

#[derive(Debug, clap::Args)]
pub struct DelegateArgs {
    /// Have another core execute these system calls of a dynamic program, reads and writes on regular files only: names
    /// between commas (stat, open, close, read, write, …), or auto, the default, which finds the calls that gain by trying
    /// while the program runs. With write:async, a write returns before it is done, and a crash, or a signal that ends the
    /// program, may lose the last writes
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = "auto",
          conflicts_with = "live")]
    pub delegate: Option<List>,
    /// The CPUs that execute delegated calls. A thread polls on each, and the program's threads are dealt out over them. The
    /// program keeps off these CPUs, with auto alone only while it delegates. CALLS= (names between commas) gives CPUs to these
    /// calls alone; may be given several times [default: one near the program's]
    #[arg(long, value_name = "[CALLS=]LIST", requires = "delegate")]
    host_cpus: Vec<HostCpus>,
    /// How long write:async may leave a write undone while the program goes on writing [default: 1ms]
    #[arg(long, value_name = "SECONDS", requires = "delegate", value_parser = arguments::duration)]
    delegate_flush: Option<Duration>,
}

/// What is delegated, and to which CPUs.
pub struct Delegation {
    calls: List,
    division: Division,
    /// The program's CPUs, including the hosts' if it leaves them only while it delegates.
    program: CpuSet,
    /// The requested hosts, or one for all calls.
    hosts: Vec<HostCpus>,
    flush: Option<Duration>,
}

impl Delegation {
    /// The delegation that the arguments request for a program on `chosen`; `None`, with a message, if the program
    /// runs without delegation.
    pub fn of(args: &Args, chosen: &Chosen, machine: &Machine) -> anyhow::Result<Option<Self>> {
        let Some(asked) = &args.delegation.delegate else { return Ok(None) };
        let as_without = |why: String| {
            if !args.quiet {
                coho_show::say!("coho: {why}: the program runs as without --delegate");
            }
            Ok(None)
        };
        if let Some(why) = args.command.first().and_then(preload::objection) {
            return as_without(why);
        }
        let mut hosts = HostCpus::gather(&args.delegation.host_cpus)
            .map_err(|wrong| anyhow::anyhow!("--host-cpus: {wrong}"))?;
        let asked_cpus: CpuSet = hosts.iter().flat_map(|part| part.cpus.iter()).collect();
        let division = delegation::divide(
            &machine.room,
            &chosen.choice.cpus,
            (!hosts.is_empty()).then_some(&asked_cpus),
            &machine.topology,
            machine.profile.as_ref().and_then(|profile| profile.coherence.as_ref()),
        );
        let division = match division {
            Ok(division) => division,
            Err(why @ (NoHost::OneCpu(_) | NoHost::Quota(_))) => return as_without(why.to_string()),
            Err(wrong) => bail!("--host-cpus: {wrong}"),
        };
        let Some(mut calls) = candidates(asked, machine.profile.as_ref(), args.quiet) else {
            return as_without("by the profile, no call gains on another core at any footprint".into());
        };
        calls.verbose |= wants_words();
        if hosts.is_empty() {
            hosts.push(HostCpus::of_all(division.hosts.iter().copied()));
        }
        // A CPU assigned to a single thread or process is never a host's.
        let is_dealt = args.per_thread || args.per_process || args.openmp || args.omp_places;
        let waits = calls.auto && !calls.writes_later && !is_dealt;
        let program = if waits { chosen.choice.cpus.clone() } else { division.program.clone() };
        Ok(Some(Self { calls, division, program, hosts, flush: args.delegation.delegate_flush }))
    }

    /// The program's CPUs.
    pub fn program(&self) -> &CpuSet {
        &self.program
    }

    /// The variables that make the library delegate.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let leaves = self.program.difference(&self.division.program);
        delegation::environment(&self.calls, &self.hosts, &leaves, self.flush)
    }

    /// Prints on one line what was chosen and, with write:async, on another what may be lost.
    pub fn say(&self, machine: &Machine) {
        let List { calls, auto, writes_later, .. } = &self.calls;
        let calls = match (&calls[..], auto) {
            (all, true) if all.len() == NAMES.len() => "auto, of all calls that can be delegated".to_owned(),
            (some, true) => format!("auto, of {}", some.join(", ")),
            (some, false) => some.join(", "),
        };
        let later = writes_later.then(|| "write:async".to_owned());
        let calls: Vec<_> = Some(calls).filter(|calls| !calls.is_empty()).into_iter().chain(later).collect();
        let hosts: Vec<_> = self.hosts.iter().map(|part| named_hosts(part, self.hosts.len())).collect();
        let (calls, hosts) = (calls.join(", "), hosts.join(", "));
        coho_show::say!("coho: delegate: {calls}; hosts on {hosts}{}", self.way(machine));
        if *writes_later {
            let flush = humantime::format_duration(self.flush.unwrap_or(FLUSH));
            coho_show::say!(
                "coho: write:async: a crash, or a signal that ends the program, may lose its last writes, a log's last lines among \
                 them: those of the last {flush} (--delegate-flush), or more if the host is late"
            );
        }
    }

    fn way(&self, machine: &Machine) -> String {
        match self.division.way {
            Way::Measured(ns) => {
                let when = machine.profile.as_ref().map(measured).unwrap_or_default();
                format!(", one-way {} ns from the program's{when}", words::number(ns))
            }
            Way::Claimed(Some(level)) => format!(", in the program's {level}"),
            Way::Claimed(None) => String::new(),
        }
    }
}

/// The named calls. For `auto` alone, the calls that gain at some footprint by the profile, or all if it has no
/// curves. `None` if it has curves and no call gains.
fn candidates(asked: &List, profile: Option<&Profile>, quiet: bool) -> Option<List> {
    if !asked.auto || !asked.calls.is_empty() {
        return Some(asked.clone());
    }
    let calls = match profile.and_then(|profile| gaining(profile.calls.as_ref()?)) {
        Some(gaining) => NAMES.into_iter().filter(|name| gaining.contains(name)).collect(),
        None => {
            if !quiet {
                coho_show::say!(
                    "coho: no profile says which calls gain (`coho calls --footprint` measures it): auto tries all"
                );
            }
            NAMES.to_vec()
        }
    };
    let some = !calls.is_empty() || asked.writes_later;
    some.then(|| List { auto: !calls.is_empty(), calls, ..asked.clone() })
}

/// `CPU 3`, or `CPUs 2-3 for write`.
fn named_hosts(part: &HostCpus, parts: usize) -> String {
    let HostCpus { calls, cpus } = part;
    match &calls[..] {
        [] if parts > 1 => format!("{} for the others", named(cpus)),
        [] => named(cpus),
        some => format!("{} for {}", named(cpus), some.join(", ")),
    }
}

/// Whether the environment asks the library to report what it did.
fn wants_words() -> bool {
    std::env::var("COHO_DELEGATE").is_ok_and(|list| list.split(',').any(|name| name == "verbose"))
}

/// Runs the program with and without delegation in turn, and reports which takes less time. Without delegation it has
/// all CPUs, including the hosts'.
pub fn report(args: &Args, machine: &Machine, signals: &Signals) -> anyhow::Result<ExitCode> {
    if args.trial.as_ref().is_some_and(|list| !list.is_empty()) {
        bail!("--try takes no list of placements with --delegate");
    }
    let all = Chosen::now(&Placement::None, args.threads, machine, Default::default)?;
    let Some(delegation) = Delegation::of(args, &all, machine)? else {
        bail!("there is nothing to compare");
    };
    if !args.quiet {
        delegation.say(machine);
        let [without, with] = [&all.choice.cpus, delegation.program()].map(named);
        coho_show::say!("coho: direct has {without}, delegated {with} and the hosts'");
    }
    let without = job(args, &all, None, machine.profile.as_ref())?;
    let narrowed = all.clone().within(delegation.program());
    let with = job(args, &narrowed, Some(&delegation), machine.profile.as_ref())?;
    let candidate = |name: &str, chosen: &Chosen, job| Candidate {
        name: name.into(),
        order: chosen.choice.order.clone(),
        job,
    };
    let candidates = vec![candidate("direct", &all, without), candidate("delegated", &narrowed, with)];
    let trial = tried::compare(candidates, args, machine, signals)?;
    How { json: args.json, full: false }.print(&trial, trials::trial)?;
    match signals.asked_to_end() {
        Some(signal) => Err(Stopped { signal }.into()),
        None => Ok(ExitCode::SUCCESS),
    }
}
