//! Pins each thread of a program, by a library that is preloaded into it.

use std::ffi::OsString;

use crate::preload;

/// The variable that makes a program's threads take these CPUs in turn, if [`preload::Library::Pin`] is loaded.
pub fn environment(order: &[u32]) -> (OsString, OsString) {
    ("COHO_PIN".into(), list(order).into())
}

/// CPUs as the library's variables list them.
pub(crate) fn list(order: &[u32]) -> String {
    order.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Why a program's threads cannot be pinned by a preloaded library; `None` if nothing prevents it.
pub fn objection(program: &OsString) -> Option<String> {
    preload::objection(program).map(|why| format!("{why}: its threads share all CPUs of the placement"))
}
