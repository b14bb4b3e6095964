//! Trials: of placements, of coho's teams against libgomp, of delegation against none.

use coho_platform::host::date;
use coho_platform::load::Busy;
use coho_probe::placement::Placement;
use coho_profile::Trial;
use coho_topology::Level;

use super::chosen::Chosen;
use super::execute::{Execution, Outcome};
use super::identity::Identity;
use super::{Comparison, Error, Left, Notice};
use crate::child::{Input, Job, Output};
use crate::openmp::{self, Decision, Told};
use crate::trial::{self, Candidate};

/// Levels that are also tried if they mean more or fewer CPUs than the other candidates.
const LEVELS: [Level; 6] = [Level::Core, Level::Module, Level::L2, Level::L3, Level::Numa, Level::Package];

impl Execution<'_> {
    /// Tries the listed placements, or those worth trying, and remembers the result.
    pub(super) fn try_placements(mut self, list: &[Placement]) -> Result<Outcome, Error> {
        let placements = self.or_worth_trying(list)?;
        let trial = self.compare(self.candidates(&placements)?)?;
        let end = self.remember(&trial);
        Ok(Outcome::Compared(trial, end))
    }

    /// Remembers a trial; one that a signal stopped only if no earlier one is remembered.
    fn remember(&self, trial: &Trial) -> Result<(), Error> {
        let memory = &self.wish.memory;
        if trial.best.is_none() {
            self.not_stopped(Some(Left::NoRound))?;
            return Err(Error::NoRound);
        }
        if self.signals.asked_to_end().is_none() {
            return memory.remember(&Identity::of(self.wish), trial);
        }
        let left = match memory.remember_part(&Identity::of(self.wish), trial)? {
            true => Left::Remembered,
            false => Left::Earlier,
        };
        self.not_stopped(Some(left))
    }

    /// The placement that is best, now or in an earlier trial. Where nothing is better, the scheduler keeps its choice.
    pub(super) fn best(&mut self) -> Result<Placement, Error> {
        let (memory, identity) = (&self.wish.memory, Identity::of(self.wish));
        let trial = match memory.trial(&identity, &self.machine).cloned() {
            Ok(trial) => trial,
            Err(why) => {
                let placements = self.or_worth_trying(&[])?;
                let (name, repeats) = (identity.name.clone(), self.wish.rounds.repeats);
                self.listener.hear(Notice::NothingRemembered { name, why, repeats, placements: &placements });
                let now = self.compare(self.candidates(&placements)?)?;
                self.not_stopped(Some(Left::NotCompared))?;
                if now.best.is_none() || now.method.interrupted {
                    return Err(Error::NotCompared);
                }
                // The command is to run in any case.
                if let Err(error) = memory.remember(&identity, &now) {
                    self.listener.hear(Notice::NotRemembered(&error));
                }
                now
            }
        };
        self.listener.hear(Notice::AsTried(&trial));
        match trial::choice(&trial) {
            Some(best) => best.parse().map_err(|why| Error::UnknownPlacement { name: best.to_owned(), why }),
            None => Ok(Placement::None),
        }
    }

    /// The listed placements. If there are none, `compact`, `spread`, `none`, and each level that means another number
    /// of CPUs.
    pub(super) fn or_worth_trying(&self, list: &[Placement]) -> Result<Vec<Placement>, Error> {
        if !list.is_empty() {
            return Ok(list.to_vec());
        }
        let mut placements = vec![Placement::Compact, Placement::Spread, Placement::None];
        let cpus = |placement: &Placement| {
            self.choose(placement, Busy::default).map(|chosen| chosen.choice.cpus.len())
        };
        let mut known = placements.iter().map(cpus).collect::<Result<Vec<_>, _>>()?;
        for placement in LEVELS.map(Placement::Within) {
            // A level that the machine does not report is not tried.
            if let Some(cpus) = cpus(&placement).ok().filter(|cpus| !known.contains(cpus)) {
                known.push(cpus);
                placements.push(placement);
            }
        }
        Ok(placements)
    }

    /// The command under each of the placements.
    pub(super) fn candidates(&self, placements: &[Placement]) -> Result<Vec<Candidate>, Error> {
        let busy = Busy::look();
        let candidate = |placement: &Placement| {
            let chosen = self.choose(placement, || busy.clone())?;
            let job = self.job(&chosen, None)?;
            Ok(candidate(&placement.to_string(), &chosen, job))
        };
        placements.iter().map(candidate).collect()
    }

    /// Runs candidates in turn, without their output.
    fn compare(&mut self, mut candidates: Vec<Candidate>) -> Result<Trial, Error> {
        let (input, none) = Input::of_each_run();
        if let Some(why) = none {
            self.listener.hear(Notice::NoInput(&why));
        }
        for candidate in &mut candidates {
            (candidate.job.input, candidate.job.output) = (input, Output::Nowhere);
        }
        let mut progress = self.listener.progress();
        let trial = trial::compare(&candidates, &self.wish.rounds, &self.signals, &mut progress)?;
        Ok(Trial { allowed_cpus: self.machine.room.cpus.iter().collect(), date: Some(date()), ..trial })
    }

    /// Runs the program with its own runtime and with coho's teams in turn.
    pub(super) fn try_openmp(mut self) -> Result<Outcome, Error> {
        if self.names_placements() {
            return Err(Error::ListWithOpenMp);
        }
        // Before the command has run twenty times in vain.
        let program = self.wish.command.first().expect("a plan has a command");
        if let Ok(Decision { served: false, imports, reason: Some(why), .. }) = openmp::check(program)
            && !imports.is_empty()
        {
            return Err(Error::OneRuntime(format!("{}: {why}", program.display())));
        }
        let chosen = self.unplaced()?;
        let mut with = self.job(&chosen, None)?;
        let without = Job { environment: Vec::new(), ..with.clone() };
        let told = Told::new().map_err(Error::Decisions)?;
        with.environment.push(told.environment());
        let mut trial =
            self.compare(vec![candidate(OWN_RUNTIME, &chosen, without), candidate("coho", &chosen, with)])?;
        self.not_stopped(trial.best.is_none().then_some(Left::NoRound))?;
        let ran = told.read().map_err(Error::Decisions)?;
        if ran.on_teams == 0 {
            return Err(Error::OneRuntime(match ran.otherwise.first() {
                Some((one, _)) => format!("{} has run all of it: {one}", one.runtime),
                None => "no process of the command has used OpenMP in a way that coho can replace".into(),
            }));
        }
        if let [runtime] = &ran.replaced[..] {
            rename(&mut trial, OWN_RUNTIME, runtime);
        }
        self.say_who_ran(&ran, false);
        Ok(Outcome::Compared(trial, self.not_stopped(None)))
    }

    /// Runs the program with and without delegation in turn. Without delegation it has all CPUs, including the hosts'.
    pub(super) fn try_delegation(mut self) -> Result<Outcome, Error> {
        if self.names_placements() {
            return Err(Error::ListWithDelegation);
        }
        let all = self.unplaced()?;
        let delegation = self.delegation(&all)?.ok_or(Error::NothingToCompare)?;
        self.listener.hear(Notice::Delegates(&delegation));
        self.listener.hear(Notice::Divided { without: &all.choice.cpus, with: &delegation.program });
        let without = self.job(&all, None)?;
        let narrowed = all.clone().within(&delegation.program);
        let with = self.job(&narrowed, Some(&delegation))?;
        self.try_two([candidate("direct", &all, without), candidate("delegated", &narrowed, with)])
    }

    fn try_two(&mut self, candidates: [Candidate; 2]) -> Result<Outcome, Error> {
        let trial = self.compare(candidates.into())?;
        Ok(Outcome::Compared(trial, self.not_stopped(None)))
    }

    fn names_placements(&self) -> bool {
        matches!(&self.wish.comparison, Some(Comparison::Trial(placements)) if !placements.is_empty())
    }
}

/// What runs without coho, if several runtimes do.
const OWN_RUNTIME: &str = "own runtimes";

/// Gives a candidate the name of what has really run.
fn rename(trial: &mut Trial, before: &str, now: &str) {
    let named = trial.placements.iter_mut().map(|one| &mut one.name);
    for name in named.chain(&mut trial.best).chain(&mut trial.winners).filter(|name| *name == before) {
        now.clone_into(name);
    }
}

fn candidate(name: &str, chosen: &Chosen, job: Job) -> Candidate {
    Candidate { name: name.into(), order: chosen.choice.order.clone(), job }
}
