//! The build: a fixed graph of compilations over generated sources. Sixteen units, four partial links that wait for four
//! units each, a link that waits for these, and a run of what was built, which checks itself.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::functions::Job;

const UNITS: u32 = 16;
const FUNCTIONS: u32 = 8;
const PARTS: u32 = 4;
/// As most programs are built.
pub const FLAGS: &str = "-O2";

/// Writes the sources into a folder of their own and returns the jobs.
///
/// # Errors
/// The operating system's error.
pub(super) fn prepare(folder: &Path) -> std::io::Result<Vec<Job>> {
    let folder = folder.join("build");
    fs::create_dir(&folder)?;
    let path = |name: String| folder.join(name).into_os_string();
    let mut jobs = Vec::new();
    for unit in 0..UNITS {
        fs::write(path(format!("unit{unit}.c")), source(unit))?;
        let (from, to) = (path(format!("unit{unit}.c")), path(format!("unit{unit}.o")));
        jobs.push(job(["cc", FLAGS, "-c", "-o"], [to, from], []));
    }
    for part in 0..PARTS {
        let units = part * (UNITS / PARTS)..(part + 1) * (UNITS / PARTS);
        let files = std::iter::once(path(format!("part{part}.o")));
        let files = files.chain(units.clone().map(|unit| path(format!("unit{unit}.o"))));
        jobs.push(job(["cc", "-r", "-nostdlib", "-o"], files, units.map(|unit| unit as usize)));
    }
    fs::write(path("main.c".into()), main_source())?;
    let files = [path("built".into()), path("main.c".into())];
    let files = files.into_iter().chain((0..PARTS).map(|part| path(format!("part{part}.o"))));
    jobs.push(job(["cc", FLAGS, "-o"], files, (UNITS..UNITS + PARTS).map(|part| part as usize)));
    jobs.push(job([], [path("built".into())], [jobs.len() - 1]));
    Ok(jobs)
}

fn job<const N: usize>(
    words: [&str; N],
    files: impl IntoIterator<Item = OsString>,
    after: impl IntoIterator<Item = usize>,
) -> Job {
    let command = words.into_iter().map(OsString::from).chain(files).collect();
    Job { command, after: after.into_iter().collect() }
}

/// A constant of a function, odd.
fn constant(unit: u32, function: u32) -> u32 {
    (unit * FUNCTIONS + function + 1).wrapping_mul(2_654_435_761) | 1
}

fn source(unit: u32) -> String {
    let mut text = String::new();
    for function in 0..FUNCTIONS {
        let _ = writeln!(
            text,
            "static unsigned f{function}(unsigned x) {{\n    unsigned k, a[16];\n    \
             for (k = 0; k < 16; k++)\n        a[k] = x * {}u + k;\n    \
             for (k = 1; k < 16; k++)\n        a[k] ^= a[k - 1] >> 3;\n    \
             switch (x % 3) {{\n    case 0:\n        x += a[5];\n        break;\n    case 1:\n        \
             x ^= a[9];\n        break;\n    default:\n        x -= a[15];\n    }}\n    return x ^ a[x % 16];\n}}",
            constant(unit, function)
        );
    }
    let _ = writeln!(text, "unsigned unit{unit}(unsigned x) {{");
    for function in 0..FUNCTIONS {
        let _ = writeln!(text, "    x = f{function}(x);");
    }
    text + "    return x;\n}\n"
}

fn main_source() -> String {
    let mut text = String::new();
    for unit in 0..UNITS {
        let _ = writeln!(text, "unsigned unit{unit}(unsigned x);");
    }
    let calls = (0..UNITS).fold("1u".to_owned(), |inner, unit| format!("unit{unit}({inner})"));
    let _ = writeln!(text, "int main(void) {{\n    return {calls} == {}u ? 0 : 1;\n}}", expected());
    text
}

/// The result of all units, computed here.
fn expected() -> u32 {
    let mut x = 1u32;
    for unit in 0..UNITS {
        for function in 0..FUNCTIONS {
            let mut a = [0u32; 16];
            for (k, value) in a.iter_mut().enumerate() {
                *value = x.wrapping_mul(constant(unit, function)).wrapping_add(k as u32);
            }
            for k in 1..16 {
                a[k] ^= a[k - 1] >> 3;
            }
            x = match x % 3 {
                0 => x.wrapping_add(a[5]),
                1 => x ^ a[9],
                _ => x.wrapping_sub(a[15]),
            };
            x ^= a[(x % 16) as usize];
        }
    }
    x
}
