//! What `coho run` prints while a command runs, and before.

use std::ffi::OsStr;

use coho_model::openmp::Process;
use coho_platform::pin;
use coho_probe::placement::Placement;
use coho_profile::ShareLine;
use coho_run::NoInput;
use coho_run::delegation::{HostCpus, List, NAMES, Way};
use coho_run::mpi;
use coho_run::openmp::{Choices, Decision, Otherwise, Ran, Region};
use coho_run::plan::{Delegation, Measured, Notice, Order, Placed, Unknown, Why};
use coho_show::part::{Part, Text};
use coho_show::sections::trials;
use coho_show::visible::on_one_line;
use coho_show::words;
use coho_topology::CpuSet;

/// Lines that are named before the rounds.
const PROVISIONAL: usize = 3;

fn lines_of_one_run(lines: &[ShareLine]) -> Vec<String> {
    if lines.is_empty() {
        return vec![
            "coho: provisional, by one recorded run: no line went back and forth, as far as its samples show"
                .into(),
        ];
    }
    let told = lines.iter().take(PROVISIONAL).map(|line| {
        let at = line.at.first().map(|at| format!(", at {at}")).unwrap_or_default();
        let what = format!("{} sharing of {}{at}", line.kind.name(), line.object);
        format!("coho: provisional, by one recorded run: {}", on_one_line(&what))
    });
    told.collect()
}

/// The lines of a notice.
pub fn lines(notice: &Notice<'_>) -> Vec<String> {
    let line = match notice {
        Notice::Placed(placed) => self::placed(placed),
        Notice::Delegates(delegation) => return delegates(delegation),
        Notice::NothingRemembered { name, why, repeats, placements } => {
            return nothing_remembered(name, why, *repeats, placements);
        }
        Notice::Counted(process) => return counted(process),
        Notice::Chose(choices) => return chose(choices),
        Notice::NothingChosen => {
            "--threads auto: no process of the command has both opened a region and exited by itself".into()
        }
        Notice::LinesOfOneRun(lines) => return lines_of_one_run(lines),
        Notice::OneRunEach { all_s, one_s } => format!(
            "provisional, by one run each: {all_s:.2} s of CPU time on all CPUs and {one_s:.2} s on one; rounds follow"
        ),
        Notice::Objection(why) => why.clone(),
        Notice::NotRemembered(error) => error.to_string(),
        Notice::Undelegated(why) => format!("{why}: the program runs as without --delegate"),
        Notice::NoInput(why @ NoInput::Terminal) => format!("{why}: the trials read nothing from it"),
        Notice::NoInput(why) => {
            format!(
                "{why}: the trials read nothing; give them a file, which each reads anew: coho run … <FILE"
            )
        }
        Notice::NoCurves => {
            "no profile says which calls gain (`coho calls --footprint` measures it): auto tries all".into()
        }
        Notice::Divided { without, with } => {
            format!(
                "direct runs on {}; delegated runs on {}, and its hosts on theirs",
                named(without),
                named(with)
            )
        }
        Notice::AsTried(trial) => {
            let date = trial.date.as_deref().unwrap_or("an unknown date");
            format!("auto, as tried {date}: {}", trials::verdict(trial))
        }
        Notice::Settled(examination, measure) => trials::settled(examination, measure),
        Notice::Silent => {
            "live: no progress can be seen; the command stays where the scheduler puts it".into()
        }
        Notice::GivenUp(why) => format!("live: {why}; the command stays where the scheduler puts it"),
        Notice::NeverSettled => "live: the command ended before a placement was settled on".into(),
        Notice::RanOtherwise(ran) => return ran_otherwise(ran),
        Notice::NoOpenMp => {
            "nothing ran on coho's teams: no process of the command, as far as coho can be preloaded into \
                             it, has used OpenMP"
                .into()
        }
        Notice::NothingCounted => {
            "nothing was counted: no process of the command ran on coho's teams and exited by \
                                   itself (COHO_OPENMP=verbose shows whether one was taken over)"
                .into()
        }
        Notice::Illegible(why) => format!("the counts of a process cannot be read: {why}"),
        Notice::CountsLost(why) => format!("the counts are lost: {why}"),
    };
    vec![format!("coho: {line}")]
}

/// What was chosen and why, and whether the threads fit.
fn placed(placed: &Placed) -> String {
    let (room, cpus) = (&placed.room, &placed.choice.cpus);
    let of = match cpus == &room.cpus {
        true => String::new(),
        false if cpus.is_subset(&room.cpus) => format!(" of {}", room.cpus),
        false => format!(", beyond the inherited mask {}", room.cpus),
    };
    let mut line = match &placed.why {
        Why::Scheduler(load) => {
            let load = load.map(|load| format!("; load {load:.2} in the last minute"));
            let load = load.unwrap_or_default();
            // The others are a host's.
            let only = if of.is_empty() { "the only one" } else { "the only one left" };
            let one = || format!("{}: {}{of}, {only}{load}", placed.placement, named(cpus));
            let several =
                || format!("{}: the scheduler chooses among {}{of}{load}", placed.placement, named(cpus));
            if cpus.len() == 1 { one() } else { several() }
        }
        figures => format!("{}: {}{of}, {}", placed.placement, named(cpus), why(figures)),
    };
    if let Some(order) = placed.order {
        line += match order {
            Order::Threads => "; each new thread on the next",
            Order::Processes => "; each new process on the next",
            Order::OpenMp => "; OpenMP's threads in this order",
            Order::Mask => "; one mask, within which the scheduler places",
        };
    }
    if let Some(threads) = placed.threads.filter(|&threads| threads as usize > cpus.len()) {
        line += &format!("; {threads} threads share {}", words::count(cpus.len(), "CPU"));
    }
    if let Some(quota) = room.quota.filter(|quota| *quota < cpus.len() as f64) {
        line += &format!("; the quota is {} CPUs", words::number(quota));
    }
    let refused = &placed.choice.refused;
    if !refused.is_empty() {
        let why = refused.iter().find_map(pin::refusal).map(|why| why.to_string());
        let why = why.unwrap_or_else(|| "this process may not use it".to_owned());
        line += &format!("; not {}: {why}", named(refused));
    }
    line
}

fn why(figures: &Why) -> String {
    let percent = |busy: f64| format!("{:.0} %", 100.0 * busy);
    match figures {
        Why::Scheduler(_) => String::new(),
        Why::Distance { within, all, measured } => {
            let [within, all] = [within, all].map(|ns| words::number(*ns));
            let measured = self::measured(measured);
            format!("at most {within} ns apart; all are at most {all} ns apart{measured}")
        }
        Why::Busy { chosen, others: None } => format!("{} busy", percent(*chosen)),
        Why::Busy { chosen, others: Some(others) } => {
            format!("{} busy; the others are {} busy", percent(*chosen), percent(*others))
        }
    }
}

/// When times were measured and, if they are not known to stay, the condition.
fn measured(measured: &Measured) -> String {
    let date = measured.date.as_deref().map(|date| format!(", as measured {}", on_one_line(date)));
    let date = date.unwrap_or_else(|| ", as once measured".to_owned());
    match &measured.condition {
        Some(condition) => format!("{date}; {condition}"),
        None => date,
    }
}

/// `CPU 3`, `CPUs 0-3`.
fn named(cpus: &CpuSet) -> String {
    format!("{} {cpus}", if cpus.len() == 1 { "CPU" } else { "CPUs" })
}

/// What is delegated and, with write:async, what may be lost.
fn delegates(delegation: &Delegation) -> Vec<String> {
    let List { calls, auto, writes_later, .. } = &delegation.calls;
    let calls = match (&calls[..], auto) {
        (all, true) if all.len() == NAMES.len() => "auto, of all calls that can be delegated".to_owned(),
        (some, true) => format!("auto, of {}", some.join(", ")),
        (some, false) => some.join(", "),
    };
    let later = writes_later.then(|| "write:async".to_owned());
    let calls: Vec<_> = Some(calls).filter(|calls| !calls.is_empty()).into_iter().chain(later).collect();
    let parts = delegation.hosts.len();
    let hosts: Vec<_> = delegation.hosts.iter().map(|part| named_hosts(part, parts)).collect();
    let way = match delegation.way() {
        Way::Measured(ns) => {
            let when = measured(&delegation.measured);
            format!(", one-way {} ns from the program's{when}", words::number(ns))
        }
        Way::Claimed(Some(level)) => format!(", in the program's {level}"),
        Way::Claimed(None) => String::new(),
    };
    let taken = if delegation.per_process { "; each process takes one of a list, in turn" } else { "" };
    let mut lines =
        vec![format!("coho: delegate: {}; hosts on {}{way}{taken}", calls.join(", "), hosts.join(", "))];
    if *writes_later {
        let flush = humantime::format_duration(delegation.flush());
        lines.push(format!(
            "coho: write:async: a crash, or a signal that ends the program, may lose its last writes, a log's last \
             lines among them: those of the last {flush} (--delegate-flush), or more if the host is late"
        ));
    }
    lines
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

fn nothing_remembered(name: &str, why: &Unknown, repeats: u32, placements: &[Placement]) -> Vec<String> {
    let name = words::short(name, 100);
    let names: Vec<_> = placements.iter().map(Placement::to_string).collect();
    let times = if repeats == 1 { "once".to_owned() } else { format!("{repeats} times") };
    let why = match why {
        Unknown::New => format!("nothing is remembered of '{name}'"),
        Unknown::Changed(path) => format!("{} has changed since '{name}' was tried", on_one_line(path)),
        Unknown::OtherCpus(cpus) => format!("'{name}' was tried on other CPUs, {}", words::cpus(cpus)),
    };
    vec![
        format!("coho: {why}: it runs {times} under each of"),
        format!("      {}, and then under the best", names.join(", ")),
    ]
}

fn ran_otherwise(ran: &Ran) -> Vec<String> {
    let line = |(one, count): &(Otherwise, usize)| {
        let who = if *count == 1 && ran.on_teams == 0 && ran.otherwise.len() == 1 {
            "the program".to_owned()
        } else {
            format!("{count} {}", if *count == 1 { "process" } else { "processes" })
        };
        format!("coho: {} has run {who}, not coho's teams: {}", one.runtime, on_one_line(&one.to_string()))
    };
    ran.otherwise.iter().map(line).collect()
}

fn counted(process: &Process) -> Vec<String> {
    let team = |team: &coho_model::openmp::Team| {
        format!(
            "coho: process {}, teams of {}: {} regions, {} barriers; of {:.3} s thread 0 waited {:.3} s",
            process.pid, team.threads, team.regions, team.barriers, process.seconds, team.waiting_s
        )
    };
    process.teams.iter().map(team).collect()
}

/// Regions of a process that are named.
const REGIONS: usize = 5;

/// The numbers of threads of a process's regions, those in which it spends most time first.
fn chose(choices: &Choices) -> Vec<String> {
    let Choices { pid, kept, regions } = choices;
    let mut regions: Vec<_> = regions.iter().collect();
    regions.sort_by(|a, b| b.all_ns().total_cmp(&a.all_ns()));
    let kept = kept.iter().map(|why| {
        let remedy = if why.contains("set_dynamic") { "" } else { "; OMP_DYNAMIC=true allows fewer" };
        format!("its regions keep their numbers of threads: {why}{remedy}")
    });
    let left = regions.len().saturating_sub(REGIONS);
    let left = (left > 0).then(|| format!("{left} more regions of its code (--json names them)"));
    let lines = kept.chain(regions.into_iter().take(REGIONS).map(region)).chain(left);
    lines.map(|line| format!("coho: process {pid}: {}", on_one_line(&line))).collect()
}

fn region(region: &Region) -> String {
    let Region { place, threads, of, executions, decided, tried } = region;
    let counted = |count: u32| words::count(count as usize, "thread");
    let us = |ns: f64| format!("{} us", words::number(ns / 1e3));
    let times = match region.ns(*threads) {
        Some(ns) => {
            let others = tried.iter().filter(|one| one.threads != *threads);
            let others: Vec<_> = others.map(|one| format!("{} with {}", us(one.ns), one.threads)).collect();
            format!("{} each, {}", us(ns), others.join(", "))
        }
        None => "too few to compare".to_owned(),
    };
    let goes_on = if *decided || tried.is_empty() { "" } else { ", and others were being tried" };
    format!("{place} has {} of {of} in {executions} executions: {times}{goes_on}", counted(*threads))
}

/// Whether a program would run on coho's teams.
pub fn decision(program: &OsStr, decision: &Decision) -> Vec<Part> {
    let program = program.display();
    let would = |served: bool, reason: &Option<String>| match reason {
        Some(reason) if !served => format!("as without --openmp: {reason}"),
        _ => "on coho's teams".to_owned(),
    };
    let uses_none = decision.imports.is_empty();
    let itself = if uses_none { " itself" } else { "" };
    let first = format!("{program}{itself} would run {}.", would(decision.served, &decision.reason));
    let imports = (!uses_none).then(|| format!("It imports {}.", decision.imports.join(" ")));
    let arguments = decision.arguments.iter().map(|one| {
        format!("Its argument {} would run {}.", on_one_line(&one.program), would(one.served, &one.reason))
    });
    let last = if uses_none {
        "What it opens or starts while it runs was not examined: coho decides in each process."
    } else {
        "What it opens while it runs was not examined."
    };
    let sentences = [Some(first), imports].into_iter().flatten().chain(arguments);
    sentences.chain([last.to_owned()]).map(|one| Part::summary(Text::new(one))).collect()
}

/// What --mpi would do with a command.
pub fn mpi(program: &OsStr, decision: &mpi::Decision) -> Vec<Part> {
    let would = |decision: &mpi::Decision| match &decision.reason {
        Some(reason) => format!("would run as without --mpi: {reason}"),
        None => format!(
            "would have coho serve {} on communicators within a node; {} does all else",
            decision.serves.join(" and "),
            decision.mpi
        ),
    };
    let imports = |decision: &mpi::Decision| {
        (!decision.imports.is_empty()).then(|| format!("It imports {}.", decision.imports.join(" ")))
    };
    let itself = if decision.imports.is_empty() { " itself" } else { "" };
    let first = format!("{}{itself} {}.", program.display(), would(decision));
    let arguments = decision.arguments.iter().flat_map(|one| {
        let first = format!("Its argument {} {}.", on_one_line(&one.program), would(&one.decision));
        [Some(first), imports(&one.decision)]
    });
    let last = "What it opens or starts while it runs was not examined.".to_owned();
    let sentences = [Some(first), imports(decision)].into_iter().chain(arguments).flatten().chain([last]);
    sentences.map(|one| Part::summary(Text::new(one))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_distance_comes_with_its_date_and_condition() {
        let with = |date: Option<&str>, condition: Option<&str>| {
            measured(&Measured { date: date.map(str::to_owned), condition: condition.map(str::to_owned) })
        };
        assert_eq!(with(Some("2026-11-21T21:30:00Z"), None), ", as measured 2026-11-21T21:30:00Z");
        assert_eq!(with(None, Some("holds for a while")), ", as once measured; holds for a while");
    }
}
