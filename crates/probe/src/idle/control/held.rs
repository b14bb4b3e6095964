//! Changes that are in force, and their end.

use std::fs::File;

use super::journal::{Before, Journal};
use super::plan::Plan;
use crate::Error;
use crate::idle::files::Root;

/// Changes that are in force until it is dropped.
#[derive(Debug)]
pub struct Held {
    root: Root,
    journal: Journal,
    before: Vec<Before>,
    /// Open for as long as the latency is bounded.
    _dma_latency: Option<File>,
    restored: bool,
}

impl Held {
    /// Makes the plan's changes, and verifies each file.
    ///
    /// # Errors
    /// If another run holds changes, or has left some behind, or a file cannot be changed; earlier changes are then
    /// undone.
    pub fn apply(root: &Root, plan: &Plan) -> Result<Self, Error> {
        let journal = Journal::open(root)?;
        if journal.read()?.is_some() {
            return Err(Error::held(
                "an earlier run ended before it could restore what it had changed; run `coho idle restore` first",
            ));
        }
        let before = plan.changes.iter().map(|change| {
            let text = root.read(&change.path).map_err(Error::not_available)?;
            Ok(Before { path: change.path.clone(), text })
        });
        let before = before.collect::<Result<Vec<_>, Error>>()?;
        if !before.is_empty() {
            journal.write(&before)?;
        }
        let mut held = Self { root: root.clone(), journal, before, _dma_latency: None, restored: false };
        for change in &plan.changes {
            if let Err(why) = held.set(&change.path, &change.value) {
                held.restore()?;
                return Err(Error::not_available(why));
            }
        }
        if let Some(us) = plan.dma_latency_us {
            match super::hold_dma_latency(root, us) {
                Ok(file) => held._dma_latency = Some(file),
                Err(why) => {
                    held.restore()?;
                    return Err(Error::not_available(why));
                }
            }
        }
        Ok(held)
    }

    fn set(&self, path: &str, value: &str) -> Result<(), String> {
        let shown = self.root.path(path);
        self.root.write(path, value).map_err(|error| format!("{}: {error}", shown.display()))?;
        let now = self.root.trimmed(path)?;
        if now == value.trim() {
            return Ok(());
        }
        Err(format!("{}: set to '{}', but reads '{now}'", shown.display(), value.trim()))
    }

    /// Puts everything back.
    ///
    /// # Errors
    /// What could not be put back; it stays in the journal for [`restore`].
    pub fn restore(mut self) -> Result<(), Error> {
        self.restored = true;
        put_back(&self.root, &self.journal, &self.before)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.restored {
            // What cannot be put back stays in the journal.
            let _ = put_back(&self.root, &self.journal, &self.before);
        }
    }
}

/// Puts back what a killed run had changed; returns the number of files, 0 if there was nothing to do.
///
/// # Errors
/// If a run holds changes now, the journal cannot be trusted, or a file cannot be put back.
pub fn restore(root: &Root) -> Result<usize, Error> {
    let journal = Journal::open(root)?;
    let before = journal.read()?.unwrap_or_default();
    put_back(root, &journal, &before)?;
    Ok(before.len())
}

/// Every file is tried, whatever happens to the others; the journal stays until all are back.
fn put_back(root: &Root, journal: &Journal, before: &[Before]) -> Result<(), Error> {
    let mut failures = Vec::new();
    for Before { path, text } in before.iter().rev() {
        let shown = root.path(path);
        match root.write(path, text).map_err(|error| error.to_string()).and_then(|()| root.read(path)) {
            Ok(now) if now == *text => {}
            Ok(now) => failures.push(format!("{} says '{}'", shown.display(), now.trim())),
            Err(why) => failures.push(format!("{}: {why}", shown.display())),
        }
    }
    if failures.is_empty() {
        return journal.remove();
    }
    Err(Error::work(format!(
        "not everything could be put back; `coho idle restore` tries again: {}",
        failures.join("; ")
    )))
}
