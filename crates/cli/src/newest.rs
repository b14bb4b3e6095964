//! The profile that commands read if none is named: the newest here, or that in which `coho run` remembers its choices.

use std::path::{Path, PathBuf};

use coho_show::Subject;
use coho_show::visible::on_one_line;

/// A profile that was found rather than named, and its path.
pub struct Newest {
    path: PathBuf,
    pub subject: Subject,
}

/// The newest profile, if there is one.
///
/// # Errors
/// If it cannot be read.
pub fn subject() -> anyhow::Result<Option<Newest>> {
    let kept = || coho_run::plan::default_profile().filter(|path| path.exists());
    let Some(path) = newest(Path::new(".")).or_else(kept) else { return Ok(None) };
    let subject = Subject::only(&path.to_string_lossy())?;
    Ok(Some(Newest { path, subject }))
}

impl Newest {
    /// Says which profile was read and when it was measured, after `what`, which names what is shown of it.
    pub fn say(&self, what: &str) {
        let date = self.subject.profile.host.as_ref().and_then(|host| host.date.as_deref());
        let date = date.map_or("measured on an unknown date".to_owned(), |date| {
            format!("measured {}", on_one_line(date))
        });
        coho_show::say!("coho: {what} {}, {date}", self.path.display());
    }
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
