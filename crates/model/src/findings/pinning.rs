//! Which CPUs to pin a pair, a team or a job to.

use coho_profile::{Coherence, PlacementTime, Profile, Trial};
use coho_topology::CpuSet;

use super::finding::{Finding, Urgency, brief, times_of};
use super::moves::have_stayed;
use crate::chance::Order;
use crate::judge::Judgement;
use crate::trial::{family, fingerprint};
use crate::words::{number, ratio};
use crate::{Level, Matrix, stability};

/// The most commands whose trial is reported.
const JOBS: usize = 3;

pub fn findings(profile: &Profile, judgement: &Judgement) -> Vec<Finding> {
    let team = profile.coherence.as_ref().and_then(|coherence| team(profile, coherence, &judgement.levels));
    let trials = profile.run.iter().flat_map(|run| &run.commands);
    let jobs = trials.filter_map(|(name, trial)| job(name, trial)).take(JOBS);
    team.into_iter().chain(jobs).collect()
}

/// The quickest group of each level of groups.
fn team(profile: &Profile, coherence: &Coherence, levels: &[Level]) -> Option<Finding> {
    let is_certain = coherence.judged().iter().all(|pair| pair.ns.has_interval());
    if !have_stayed(profile) || !is_certain {
        return None;
    }
    let matrix = Matrix::of(coherence)?;
    let several = levels.iter().filter(|level| level.groups.len() > 1);
    let teams: Vec<Team> = several.filter_map(|level| quickest(&matrix, level)).collect();
    let nearest = &teams.first()?.cpus;
    let next = format!(
        "`coho run --place {nearest} -- COMMAND` keeps a command there; `--per-thread` pins each of its threads to a CPU of \
         its own."
    );
    let one = |team: &Team| {
        let who = match team.cpus.len() {
            2 => "two".into(),
            n => format!("up to {n}"),
        };
        let alike = match team.alike {
            0 => String::new(),
            1 => "; 1 more group is alike".into(),
            n => format!("; {n} more groups are alike"),
        };
        format!("{who} to CPUs {} (at most {} ns apart{alike})", team.cpus, number(team.ns))
    };
    let text = |teams: &[Team]| {
        let teams = teams.iter().map(one).collect::<Vec<_>>().join(", ");
        format!("Pin threads that share lines near each other: {teams}.")
    };
    Some(Finding {
        id: "pin-team",
        brief: brief(&text(&teams[..1]), &stability::clause(coherence)),
        text: text(&teams),
        act: format!("`coho run --place {nearest} -- COMMAND`"),
        urgency: Urgency::Advice,
        evidence: vec![times_of(coherence)],
        condition: format!(
            "judged by what sharing lines costs alone, not by how threads of one core slow each other down; \
             {}",
            stability::condition(coherence)?
        ),
        next,
    })
}

/// A group of CPUs for threads that share lines.
struct Team {
    cpus: CpuSet,
    /// The longest one-way time within it.
    ns: f64,
    /// How many other groups of as many CPUs are as near, so that it is one of several rather than the best.
    alike: usize,
}

/// The group whose longest one-way time is the shortest; of equal ones, the first.
fn quickest(matrix: &Matrix, level: &Level) -> Option<Team> {
    let longest = |group: &Vec<u32>| {
        let cpus: Vec<usize> =
            (0..matrix.len()).filter(|&index| group.contains(&matrix.cpus()[index])).collect();
        let times = cpus.iter().enumerate().flat_map(|(at, &a)| cpus[at + 1..].iter().map(move |&b| (a, b)));
        times.filter_map(|(a, b)| matrix.between(a, b)).reduce(f64::max)
    };
    let several = level.groups.iter().filter(|group| group.len() > 1);
    let timed: Vec<_> = several.filter_map(|group| Some((group, longest(group)?))).collect();
    let (best, least) = *timed.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let is_alike =
        |(group, ns): &&(&Vec<u32>, f64)| group.len() == best.len() && *ns <= super::sharing::ALIKE * least;
    let (first, ns) = *timed.iter().find(is_alike)?;
    let alike = timed.iter().filter(is_alike).count() - 1;
    Some(Team { cpus: first.iter().copied().collect(), ns, alike })
}

const AVOIDS: &str = "`coho run -p PROFILE --place auto -- COMMAND` avoids the slower ones.";

/// A command that was tried, if one placement is better beyond chance.
fn job(name: &str, trial: &Trial) -> Option<Finding> {
    let best = trial.best.as_deref().filter(|_| trial.decided)?;
    let family = family(trial);
    let beaten = |placement: &PlacementTime| {
        placement.times_best.clone().filter(|times| family.compare_to(times, 1.0) == Order::More)
    };
    let others = trial.placements.iter().enumerate().filter_map(|(at, one)| Some((at, one, beaten(one)?)));
    let (at, worst, times) = others.max_by(|a, b| a.2.median.total_cmp(&b.2.median))?;
    let date = trial.date.as_ref().map_or_else(String::new, |date| format!(", on {date}"));
    // The key of an object, escaped for a JSON Pointer.
    let key = name.replace('~', "~0").replace('/', "~1");
    let text =
        format!("Placement {best} suits {name}: {} takes {} times as long.", worst.name, ratio(&times));
    Some(Finding {
        id: "pin-job",
        brief: brief(&text, &format!("in {} rounds", times.n)),
        text,
        act: "`coho run -p PROFILE --place auto -- COMMAND`".into(),
        urgency: Urgency::Advice,
        evidence: vec![format!("/run/commands/{key}/placements/{at}/times_best")],
        condition: format!(
            "tried in {} rounds on CPUs {}{date}; with other CPUs, data or load, another placement may be \
             better",
            times.n,
            trial.allowed_cpus.iter().copied().collect::<CpuSet>()
        ),
        next: [Some(AVOIDS.to_owned()), fingerprint(trial)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
    })
}
