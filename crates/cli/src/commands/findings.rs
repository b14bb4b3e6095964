//! `coho findings`: what a profile means for its reader.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::printed;
use coho_show::Subject;
use coho_show::part::{Part, Text};
use coho_show::visible::on_one_line;
use coho_show::words::NO_FINDING;

const EXAMPLES: &str = examples![
    ("What the newest survey here means", "coho findings"),
    ("The same for a profile, as JSON for scripts", "coho findings mine.json --json"),
];

/// Print what a profile means, when it holds, and what to do
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A profile file, or one machine of a publication (`published:kawabe-furuya/e5620`) [default: the newest
    /// coho-DATE.json here]
    ///
    /// By default it reads the newest coho-DATE.json in this folder, as `coho survey` writes it, or else
    /// coho/profile.json in $XDG_STATE_HOME or ~/.local/state.
    profile: Option<String>,
    #[command(flatten)]
    how: printed::How,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let subject = match &args.profile {
        Some(name) => Subject::only(name)?,
        None => {
            let path = newest(Path::new("."))
                .or_else(|| coho_run::plan::default_profile().filter(|path| path.exists()));
            let path = path.context("there is no profile here; name one, or let `coho survey` write one")?;
            let subject = Subject::only(&path.to_string_lossy())?;
            let date = subject.profile.host.as_ref().and_then(|host| host.date.as_deref());
            let date = date.map_or("measured on an unknown date".to_owned(), |date| {
                format!("measured {}", on_one_line(date))
            });
            coho_show::say!("coho: findings of {}, {date}", path.display());
            subject
        }
    };
    args.how.print(&subject.answers.findings_of(&subject.profile), |findings| {
        if findings.is_empty() {
            return vec![Part::summary(Text::new(NO_FINDING))];
        }
        findings.iter().cloned().map(Part::summary).collect()
    })
}

/// The profile in a folder that a survey wrote last.
fn newest(folder: &Path) -> Option<PathBuf> {
    let dated = |name: &str| {
        let rest = name.strip_prefix("coho-").filter(|_| name.ends_with(".json"));
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    let files = folder.read_dir().ok()?.flatten().filter(|file| file.file_name().to_str().is_some_and(dated));
    let timed = files.filter_map(|file| {
        let found = file.metadata().ok()?;
        // A survey that was killed before its first figure leaves the name that it had taken, and nothing in it.
        Some((found.modified().ok().filter(|_| found.len() > 0)?, file.file_name()))
    });
    // If two were written within one tick of the clock, the later name wins.
    timed.max().map(|(_, name)| name.into())
}
