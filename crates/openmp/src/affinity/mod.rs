//! Where threads run, as programs and users ask for it: `omp_display_affinity` and its relatives, and
//! `OMP_DISPLAY_AFFINITY`.

mod begin;
mod format;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;

use coho_preload::{Mask, setting};

pub use begin::{Displayed, Meeting, begin, begin_alone};
pub use format::Dialect;
use format::{Field, Value, expand};

use crate::decide::is_of_libgomp;
use crate::exports::{own, resolved};
use crate::here::Membership;
use crate::settings::settings;

/// How the program's own runtime speaks; libgomp if it has none.
pub fn dialect() -> Dialect {
    static DIALECT: OnceLock<Dialect> = OnceLock::new();
    *DIALECT.get_or_init(|| match resolved("omp_get_max_threads\0") {
        Some(function) if !is_of_libgomp(function as usize) => Dialect::Llvm,
        _ => Dialect::Libgomp,
    })
}

/// Whether a runtime of this dialect shows each region's threads for this value of `OMP_DISPLAY_AFFINITY`.
fn means_yes(value: &[u8], dialect: Dialect) -> bool {
    let begins = |value: &[u8], word: &[u8]| {
        value.len() >= word.len() && value[..word.len()].eq_ignore_ascii_case(word)
    };
    match dialect {
        // Also if nonsense follows, about which it complains.
        Dialect::Libgomp => begins(value.trim_ascii_start(), b"true"),
        // Also the words' beginnings.
        Dialect::Llvm => {
            let words: [(&[u8], usize); 6] =
                [(b"true", 1), (b"on", 2), (b"1", 1), (b".true.", 2), (b".t.", 2), (b"yes", 1)];
            words.iter().any(|&(word, least)| {
                let common = value.len().min(word.len());
                common >= least && value[..common].eq_ignore_ascii_case(&word[..common])
            })
        }
    }
}

/// Whether the user wants each region's threads to be shown that are not those of before.
pub fn is_displayed(dialect: Dialect) -> bool {
    setting(c"OMP_DISPLAY_AFFINITY").is_some_and(|value| means_yes(value, dialect))
}

/// The functions that tell the current format, of libgomp and of LLVM's runtime, in C.
static FORMATS: [AtomicPtr<c_void>; 2] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];

/// Finds functions of the program's own runtimes. It waits for the loader.
pub fn resolve() {
    // LLVM's second name is that of Fortran's form.
    for (place, name) in FORMATS.iter().zip(["omp_get_affinity_format\0", "ompc_get_affinity_format\0"]) {
        place.store(own(name).unwrap_or_default(), Relaxed);
    }
}

/// The format that the program or its user has chosen, or the runtime's.
fn current_format(dialect: Dialect) -> Vec<u8> {
    let found = FORMATS[dialect as usize].load(Relaxed);
    if found.is_null() {
        return Vec::new();
    }
    // SAFETY: the runtimes' functions of that name have that type.
    let get: unsafe extern "C" fn(*mut u8, usize) -> usize = unsafe { std::mem::transmute(found) };
    let mut text = vec![0; 256];
    loop {
        // SAFETY: there is so much room.
        let length = unsafe { get(text.as_mut_ptr(), text.len()) };
        if length < text.len() {
            text.truncate(length);
            return text;
        }
        text.resize(length + 1, 0);
    }
}

/// What is to be shown of the thread, by this format or, if that is empty, by the current one.
fn text(format: &[u8], dialect: Dialect, membership: &Membership) -> Vec<u8> {
    let current;
    let format = if format.is_empty() {
        current = current_format(dialect);
        &current
    } else {
        format
    };
    expand(format, dialect, &|field| value(field, dialect, membership)).unwrap_or_else(|_| {
        refuse(format);
        Vec::new()
    })
}

/// Has libgomp say what is wrong with a format, by which it ends the program.
fn refuse(format: &[u8]) {
    type Capture = unsafe extern "C" fn(*mut c_char, usize, *const c_char) -> usize;
    if let Some(capture) = resolved("omp_capture_affinity\0")
        && let Ok(format) = CString::new(format)
    {
        // SAFETY: libgomp's function of that name has that type, and there is no room.
        unsafe {
            std::mem::transmute::<*mut c_void, Capture>(capture)(ptr::null_mut(), 0, format.as_ptr());
        }
    }
}

fn value(field: Field, dialect: Dialect, membership: &Membership) -> Value {
    let region = membership.region();
    let number = |number: u32| Value::Number(number.to_string());
    match field {
        Field::Team => number(region.league.0),
        Field::Teams => number(region.league.1),
        Field::Level => number(region.level),
        Field::Thread => number(membership.rank),
        Field::Threads => number(membership.size()),
        Field::Ancestor => {
            let opener = region.level.checked_sub(1).and_then(|level| membership.at_level(level));
            Value::Number(opener.map_or("-1".into(), |opener| opener.rank.to_string()))
        }
        Field::Host => Value::Text(host()),
        Field::Process => number(std::process::id()),
        Field::NativeThread => Value::Number(match dialect {
            // SAFETY: it tells the calling thread's number.
            Dialect::Libgomp => format!("{:#x}", unsafe { libc::pthread_self() }),
            // SAFETY: as above.
            Dialect::Llvm => unsafe { libc::gettid() }.to_string(),
        }),
        Field::Cpus => Value::Text(cpus(membership, dialect)),
    }
}

fn host() -> String {
    let mut name = [0u8; 256];
    // SAFETY: there is room, and a zero at the end.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned()
}

/// The CPUs of the thread's place, or those that the process began with: what either runtime says.
fn cpus(membership: &Membership, dialect: Dialect) -> String {
    let settings = settings();
    let place = membership.part().map_or(0, |share| share.place as usize);
    let place = settings.places.as_ref().and_then(|places| places.get(place));
    ranges(place.unwrap_or(&settings.allowed), dialect)
}

/// CPUs as a list of ranges. LLVM's runtime lists two neighbours one by one.
fn ranges(mask: &Mask, dialect: Dialect) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in mask.iter() {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let text = |&(first, last): &(u32, u32)| match (last - first, dialect) {
        (0, _) => first.to_string(),
        (1, Dialect::Llvm) => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// Writes a line where the runtime does, by way of the C library, whose buffers the program's output goes through, too.
fn print(mut line: Vec<u8>, dialect: Dialect) {
    line.push(b'\n');
    // SAFETY: the C library's files, and the line's memory.
    unsafe {
        match dialect {
            Dialect::Libgomp => {
                libc::fwrite(line.as_ptr().cast(), 1, line.len(), stderr);
            }
            Dialect::Llvm => {
                libc::fwrite(line.as_ptr().cast(), 1, line.len(), stdout);
                libc::fflush(stdout);
            }
        }
    }
}

/// Shows a thread by this format; by the current one if it is empty.
pub fn display(format: &[u8], dialect: Dialect, membership: &Membership) {
    print(text(format, dialect, membership), dialect);
}

/// Puts the text and a zero into a buffer of this size, as much as fits; returns the text's length.
///
/// # Safety
/// The program has the room, if any.
pub unsafe fn capture(
    (buffer, room): (*mut u8, usize),
    format: &[u8],
    dialect: Dialect,
    membership: &Membership,
) -> usize {
    let text = text(format, dialect, membership);
    if !buffer.is_null() && room > 0 {
        let fits = text.len().min(room - 1);
        // SAFETY: as the caller promises.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr(), buffer, fits);
            *buffer.add(fits) = 0;
        }
    }
    text.len()
}

/// As [`capture`], for Fortran: blanks fill the buffer, and there is no zero.
///
/// # Safety
/// As there.
pub unsafe fn capture_blank(
    (buffer, room): (*mut u8, usize),
    format: &[u8],
    dialect: Dialect,
    membership: &Membership,
) -> c_int {
    let text = text(format, dialect, membership);
    if !buffer.is_null() {
        let fits = text.len().min(room);
        // SAFETY: as the caller promises.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr(), buffer, fits);
            ptr::write_bytes(buffer.add(fits), b' ', room - fits);
        }
    }
    c_int::try_from(text.len()).unwrap_or(c_int::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As both runtimes have taken them.
    #[test]
    fn words_for_yes_are_each_runtimes() {
        for (value, libgomp, llvm) in [
            ("true", true, true),
            ("TRUE", true, true),
            (" true ", true, false),
            ("true x", true, true),
            ("1", false, true),
            ("yes", false, true),
            ("on", false, true),
            ("t", false, true),
            (".true.", false, true),
            ("o", false, false),
            ("off", false, false),
            ("false", false, false),
            ("0", false, false),
            ("", false, false),
        ] {
            assert_eq!(means_yes(value.as_bytes(), Dialect::Libgomp), libgomp, "{value}");
            assert_eq!(means_yes(value.as_bytes(), Dialect::Llvm), llvm, "{value}");
        }
    }

    #[test]
    fn neighbours_are_ranges() {
        let both = |cpus: &[u32]| {
            let mask: Mask = cpus.iter().copied().collect();
            [Dialect::Libgomp, Dialect::Llvm].map(|dialect| ranges(&mask, dialect))
        };
        assert_eq!(both(&[0, 1, 4, 6, 7, 8]), ["0-1,4,6-8", "0,1,4,6-8"]);
        assert_eq!(both(&[3]), ["3", "3"]);
    }
}
