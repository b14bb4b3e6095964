//! What the ready paths predict for the machine that a profile was measured on.

use coho_profile::Profile;

use super::{CHECKED, Check, Summary, check_within};

/// The path whose protocols cross here.
const EAGER: &str = "eager";

/// Paths between two processes of one machine, by its own figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Own {
    /// The paths on which messages were timed, each predicted from the parts of these messages.
    pub between_processes: Vec<Summary>,
    /// From which size on rendezvous is quicker than eager; `None` where figures are missing.
    pub eager: Option<Summary>,
    /// Each message beside its path's prediction.
    pub checks: Vec<Check>,
    /// Why there are no checks, or no paths.
    pub lacking: Option<String>,
}

impl Own {
    /// The paths' predictions; `None` for a profile without messages between processes.
    pub fn of(profile: &Profile) -> Option<Self> {
        let transfers = &profile.memory.as_ref()?.transfers;
        if transfers.is_empty() {
            return None;
        }
        let mut lacking = None;
        let mut between_processes = Vec::new();
        for name in CHECKED {
            if transfers.iter().any(|one| one.path == name) {
                match Summary::of(name, profile) {
                    Ok(summary) => between_processes.push(summary),
                    Err(error) => lacking = Some(error.reason().to_string()),
                }
            }
        }
        let checks = check_within(transfers).unwrap_or_else(|error| {
            lacking = Some(error.reason().to_string());
            Vec::new()
        });
        Some(Self { between_processes, eager: Summary::of(EAGER, profile).ok(), checks, lacking })
    }
}
