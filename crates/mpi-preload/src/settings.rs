//! What the user has set.

use std::fmt::Display;
use std::sync::OnceLock;

use coho_preload::{is_privileged, line, setting};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    Off,
    On,
    Verbose,
}

fn read() -> Setting {
    static SETTING: OnceLock<Setting> = OnceLock::new();
    *SETTING.get_or_init(|| match setting(c"COHO_MPI_PRELOAD") {
        _ if is_privileged() => Setting::Off,
        Some(b"off") => Setting::Off,
        Some(b"verbose") => Setting::Verbose,
        _ => Setting::On,
    })
}

pub(crate) fn is_off() -> bool {
    read() == Setting::Off
}

/// Says something if the user wants to hear it.
pub(crate) fn say(what: impl Display) {
    if read() == Setting::Verbose {
        line("mpi", what);
    }
}
