//! Shows an experiment's progress on standard error, if that is a terminal, once it takes over a second.

use std::time::{Duration, Instant};

use coho_probe::Progress;
use coho_probe::experiment::Observer;
use coho_profile::{Host, Profile};
use coho_show::{letters, say, summary};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::history;

/// Shorter experiments show nothing.
const PATIENCE: Duration = Duration::from_secs(1);
/// Redraws per second; each takes time from the measured CPUs.
const REDRAWS_PER_S: u8 = 4;

/// Shows the progress that it is called with, until it is dropped.
pub fn on_stderr() -> impl FnMut(Progress) {
    let start = Instant::now();
    let mut bar: Option<Shown> = None;
    move |progress| {
        if start.elapsed() < PATIENCE {
            return;
        }
        let left = progress.left.filter(|left| left.as_secs() > 0);
        let left = left.map_or_else(String::new, |left| format!(", {} left", HumanDuration(left)));
        let message = format!("{}{left}", progress.phase);
        let Shown(bar) = bar.get_or_insert_with(|| Shown::new(progress.total, message.clone()));
        bar.set_message(message);
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    }
}

/// Shows the progress of each experiment of a walk, and compares what it measured with earlier surveys.
pub struct Watching<'a> {
    /// The host whose earlier surveys count; `None` if none do.
    history: Option<&'a Host>,
    bar: Option<Box<dyn FnMut(Progress)>>,
}

impl<'a> Watching<'a> {
    /// Compares with earlier surveys of this host, if one is given.
    pub fn new(history: Option<&'a Host>) -> Self {
        Self { history, bar: None }
    }
}

impl Observer for Watching<'_> {
    fn begins(&mut self, _: &'static str) {
        self.bar = Some(Box::new(on_stderr()));
    }

    fn advances(&mut self, progress: Progress) {
        if let Some(bar) = &mut self.bar {
            bar(progress);
        }
    }

    fn measured(&mut self, profile: &mut Profile) {
        self.bar = None;
        if let (Some(coherence), Some(host)) = (&mut profile.coherence, self.history) {
            history::meet(coherence, host);
        }
    }

    fn has_first(&mut self, profile: &Profile) {
        // People need not wait for the whole survey to see an answer.
        if let Some(finding) = summary::first_finding(profile) {
            say!("{finding}");
        }
    }
}

/// A bar that leaves no trace.
struct Shown(ProgressBar);

impl Shown {
    fn new(total: u64, message: String) -> Self {
        // Hidden by indicatif where standard error is no terminal.
        let target = ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_S);
        let bar = ProgressBar::with_draw_target(Some(total), target).with_message(message);
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}").expect("a valid template");
        let style = if letters::are_utf8() { style } else { style.progress_chars("#>-") };
        Self(bar.with_style(style))
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
