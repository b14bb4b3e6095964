//! What happens when the library is loaded: it reads the settings, and delegation begins.

use std::ffi::{CStr, CString};
use std::time::Duration;

use coho_preload::{Errno, is_privileged, line, setting};

use crate::calls::Chosen;
use crate::others::Taken;
use crate::state::{self, AUTO, FLUSH, LATER, Settings};
use crate::teams::Teams;
use crate::{cpus, ending, hooks, interpose, real, sharing};

/// When the library is loaded.
pub extern "C" fn begin() {
    let _errno = Errno::kept();
    real::look_up_all();
    ending::remember_first_thread();
    read_settings();
}

fn read_settings() {
    let Some(list) = setting(c"COHO_DELEGATE") else { return };
    if is_privileged() {
        return;
    }
    let chosen = match Chosen::parse(list) {
        Ok(chosen) => chosen,
        Err(name) => return line("delegate", format_args!("COHO_DELEGATE: \"{name}\" cannot be delegated")),
    };
    let Some(teams) = Teams::parse(setting(c"COHO_DELEGATE_CPUS").unwrap_or_default()) else {
        return line("delegate", "COHO_DELEGATE_CPUS must be a list of CPUs, such as 2,3 or 2,3 write=4");
    };
    let (Some(patience), Some(flush)) = (time(c"COHO_DELEGATE_PATIENCE"), time(c"COHO_DELEGATE_FLUSH"))
    else {
        return line(
            "delegate",
            "COHO_DELEGATE_PATIENCE and COHO_DELEGATE_FLUSH must be numbers of microseconds",
        );
    };
    let Some(shared) = numbers(c"COHO_DELEGATE_LEAVES") else {
        return line("delegate", "COHO_DELEGATE_LEAVES must be a list of CPUs, such as 2,3");
    };
    if chosen.is_auto {
        cpus::share(&shared);
    }
    let flush = flush.unwrap_or(FLUSH);
    let calls =
        chosen.calls | if chosen.writes_later { LATER } else { 0 } | if chosen.is_auto { AUTO } else { 0 };
    let taken = Taken::of(calls);
    if chosen.verbose {
        taken.lines().for_each(|text| line("delegate", text));
    }
    let calls = if taken.clock.is_some() { 0 } else { taken.calls };
    if let Some(why) = taken.lines().next()
        && calls & !AUTO == 0
    {
        ending::will_not_begin(why);
    }
    // A value of the environment has no zero.
    let turns = setting(c"COHO_DELEGATE_TURNS").and_then(|path| CString::new(path).ok());
    if state::set(Settings { teams, turns, patience, flush, verbose: chosen.verbose }) {
        // SAFETY: the functions live as long as the library, which is never unloaded.
        unsafe { libc::pthread_atfork(Some(ending::before_fork), None, Some(ending::forked)) };
        if chosen.writes_later {
            // SAFETY: as above.
            unsafe { libc::atexit(ending::settle) };
        }
        // SAFETY: the function lives as long as the library, which is never unloaded.
        unsafe { libc::atexit(ending::report) };
        hooks::install(&interpose::entries());
        real::look_behind_all();
        if chosen.verbose && !hooks::see_stdio() {
            line("delegate", "calls that the C library makes for itself are not seen");
        }
        sharing::begin();
        if sharing::is_time_limited() {
            let why = "processor time is limited, and hosts use it: the program makes its calls itself";
            if chosen.verbose {
                line("delegate", why);
            }
            return ending::will_not_begin(why.to_owned());
        }
        state::delegate(calls);
    }
}

/// The numbers that a variable lists; `None` if it lists something else.
fn numbers(name: &CStr) -> Option<Vec<u32>> {
    let list = setting(name).unwrap_or_default();
    let number = |part: &[u8]| std::str::from_utf8(part).ok()?.parse().ok();
    if list.is_empty() { Some(Vec::new()) } else { list.split(|&byte| byte == b',').map(number).collect() }
}

/// The microseconds that a variable says, if it is set; `None` if it says something else.
fn time(name: &CStr) -> Option<Option<Duration>> {
    let times = numbers(name).filter(|numbers| numbers.len() < 2)?;
    Some(times.first().map(|&time| Duration::from_micros(time.into())))
}
