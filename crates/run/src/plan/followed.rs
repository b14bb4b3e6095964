//! A command that is moved between placements while it runs.

use coho_platform::host::date;
use coho_probe::placement::Placement;
use coho_profile::{Examination, Live};

use super::execute::{Execution, Outcome};
use super::identity::Identity;
use super::{Error, Notice};
use crate::live::{self, Measure, News, Options};

impl Execution<'_> {
    /// Runs the command, keeps it where it makes most progress, and remembers the result.
    pub(super) fn follow(
        self,
        placements: &[Placement],
        measure: Option<&Measure>,
        options: &Options,
    ) -> Result<Outcome, Error> {
        let measure = match measure {
            Some(printed) => printed.clone(),
            None => {
                let cpu = self.machine.room.cpus.first().expect("a room has a CPU");
                Measure::instructions(cpu).map_err(Error::NoProgress)?
            }
        };
        let candidates = self.candidates(&self.or_worth_trying(placements)?)?;
        let mut last = None;
        let mut tell = |news: News<'_>| {
            self.listener.hear(match news {
                News::Settled(examination) if is_as(last.as_ref(), examination) => return,
                News::Settled(examination) => {
                    last = Some(examination.clone());
                    Notice::Settled(examination, measure.name())
                }
                News::Silent => Notice::Silent,
                News::GivenUp(why) => Notice::GivenUp(why),
            });
        };
        let room = &self.machine.room.cpus;
        let (live, ended) = live::run(&candidates, room, &measure, options, &self.signals, &mut tell)?;
        let live = Live { date: Some(date()), ..live };
        if live.best.is_none() {
            self.listener.hear(Notice::NeverSettled);
        } else if let Err(error) = self.wish.memory.remember_live(&Identity::of(self.wish), &live) {
            // The exit status is the command's in any case.
            self.listener.hear(Notice::NotRemembered(&error));
        }
        Ok(Outcome::Followed(live, ended.status.exit_status()))
    }
}

/// Whether there is nothing new to report.
fn is_as(last: Option<&Examination>, now: &Examination) -> bool {
    last.is_some_and(|last| (&last.best, last.decided) == (&now.best, now.decided))
}
