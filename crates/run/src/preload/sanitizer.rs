//! AddressSanitizer's runtime, which ends a program unless it is the first of its libraries.
//!
//! coho's libraries tell it not to insist, by a function that it asks for its options. A program that has this
//! function itself is asked in their place.

use std::env;
use std::path::Path;

use super::linked::linked;

/// Why nothing can be preloaded into a program with AddressSanitizer; `None` if nothing prevents it.
pub fn objection(program: &Path) -> Option<&'static str> {
    let insists = has_options_of_its_own(program).unwrap_or(false);
    let is_allowed = env::var("ASAN_OPTIONS").is_ok_and(|options| allow(&options));
    (insists && !is_allowed).then_some(
        "it sets AddressSanitizer's options itself, and no library can come before that runtime unless \
         ASAN_OPTIONS has verify_asan_link_order=0",
    )
}

/// Whether options let other libraries come first.
fn allow(options: &str) -> bool {
    let is_separator = |character: char| character == ':' || character == ',' || character.is_whitespace();
    let last = options
        .split(is_separator)
        .filter_map(|option| option.strip_prefix("verify_asan_link_order="))
        .next_back();
    last.is_some_and(|value| ["0", "false", "no"].contains(&value))
}

/// Whether a program needs AddressSanitizer's runtime as a library, and defines the function that this asks for
/// options.
fn has_options_of_its_own(program: &Path) -> Option<bool> {
    let linked = linked(program)?;
    let is_runtime = |name: &String| name.starts_with("libasan.so") || name.starts_with("libclang_rt.asan");
    Some(linked.needs.iter().any(is_runtime) && linked.defines.contains("__asan_default_options"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_several_options_holds() {
        assert!(allow("verify_asan_link_order=0") && allow("detect_leaks=0:verify_asan_link_order=false"));
        assert!(
            !allow("")
                && !allow("verify_asan_link_order=1")
                && !allow("verify_asan_link_order=0,verify_asan_link_order=1")
        );
    }

    #[test]
    fn programs_without_the_sanitizer_are_no_obstacle() {
        assert_eq!(has_options_of_its_own(&env::current_exe().unwrap()), Some(false));
        assert_eq!(has_options_of_its_own(Path::new("/proc/self/status")), None);
    }
}
