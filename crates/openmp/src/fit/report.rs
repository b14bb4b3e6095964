//! What was chosen, told when the process exits: to `coho run`, and on standard error if `COHO_OPENMP=verbose`.

use std::ffi::CStr;
use std::fmt::Write as _;
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::Ordering::Relaxed;

use coho_preload::on_fork;
use libc::c_void;

use super::{Kept, Site, is_on};
use crate::decide::{say, told};

/// Call it when the process takes over.
pub fn begin() {
    static ONCE: Once = Once::new();
    if is_on() {
        ONCE.call_once(|| on_fork(begin_anew));
    }
}

/// A forked child counts for itself. This may only store, as the thread that forks may hold locks.
unsafe extern "C" fn begin_anew() {
    for site in Site::all() {
        let executions = site.executions.swap(0, Relaxed);
        let again = site.again.load(Relaxed);
        site.again.store(again.saturating_sub(executions).max(u64::from(again > 0)), Relaxed);
    }
}

/// Run when the process exits.
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

extern "C" fn end() {
    if Site::all().next().is_none() && Kept::why().is_none() {
        return;
    }
    if let Some(why) = Kept::why() {
        say(format_args!("threads are as without --threads auto: {why}"));
    }
    for site in Site::all() {
        let (place, threads, most) = (site.place(), site.threads.load(Relaxed), site.most.load(Relaxed));
        say(format_args!("{place} has {threads} of {most} threads"));
    }
    told::tell_choices(&json());
}

/// Everything that was chosen.
fn json() -> String {
    let why = Kept::why().map_or_else(|| "null".to_owned(), |why| format!("\"{why}\""));
    let sites: Vec<_> = Site::all().map(Site::json).collect();
    format!("{{\"pid\":{},\"kept\":{why},\"regions\":[{}]}}", std::process::id(), sites.join(","))
}

impl Site {
    fn json(&self) -> String {
        let figures = [&self.threads, &self.most].map(|figure| figure.load(Relaxed));
        let (mut tried, mut decided) = (String::new(), false);
        // A thread that is in a region may have it.
        if let Ok(search) = self.search.try_lock() {
            decided = search.next().is_none();
            for one in search.tried() {
                let separator = if tried.is_empty() { "" } else { "," };
                let _ = write!(tried, "{separator}{{\"threads\":{},\"ns\":{:.1}}}", one.threads, one.ns);
            }
        }
        format!(
            "{{\"place\":\"{}\",\"threads\":{},\"of\":{},\"executions\":{},\"decided\":{decided},\"tried\":[{tried}]}}",
            escaped(&self.place()),
            figures[0],
            figures[1],
            self.executions.load(Relaxed),
        )
    }

    /// The function's place in its file, as programs such as addr2line take it.
    fn place(&self) -> String {
        let mut found = MaybeUninit::<libc::Dl_info>::uninit();
        let function = std::ptr::with_exposed_provenance::<c_void>(self.function);
        // SAFETY: there is room for the answer, which is complete if the call says so; the name is the loader's.
        let (file, base) = unsafe {
            if libc::dladdr(function, found.as_mut_ptr()) == 0 {
                return format!("{:#x}", self.function);
            }
            let found = found.assume_init();
            (CStr::from_ptr(found.dli_fname).to_string_lossy(), found.dli_fbase.addr())
        };
        let name = file.rsplit('/').next().unwrap_or_default();
        format!("{name}+{:#x}", self.function - base)
    }
}

/// A text within a JSON string.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, letter| {
        let _ = match letter {
            '"' | '\\' => write!(escaped, "\\{letter}"),
            letter if letter.is_control() => write!(escaped, "\\u{:04x}", letter as u32),
            letter => write!(escaped, "{letter}"),
        };
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_file_name_is_told() {
        assert_eq!(escaped("a\"b\\c\n\u{e9}"), "a\\\"b\\\\c\\u000a\u{e9}");
    }

    #[test]
    fn a_place_is_an_offset_in_a_file() {
        let site = Site::new(escaped as *const () as usize, 2);
        let place = site.place();
        let (file, offset) = place.split_once("+0x").unwrap();
        assert!(std::env::current_exe().unwrap().ends_with(file), "{place}");
        assert!(usize::from_str_radix(offset, 16).unwrap() < escaped as *const () as usize, "{place}");
    }
}
