//! Lists of CPUs in environment variables.

use std::ffi::CStr;

use coho_preload::{MOST, setting};

/// The CPUs that a variable lists; none if the variable is not set or makes no sense, or if the program runs with more
/// rights than its user.
pub fn of_variable(name: &CStr) -> Vec<u32> {
    setting(name).map(parse).unwrap_or_default()
}

fn parse(list: &[u8]) -> Vec<u32> {
    let number = |part: &[u8]| std::str::from_utf8(part).ok()?.parse().ok().filter(|&cpu| cpu < MOST);
    list.split(|&byte| byte == b',').map(number).collect::<Option<_>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_nonsense_is_none() {
        assert_eq!(parse(b"4,0,63"), [4, 0, 63]);
        for bad in [&b""[..], b"0,", b"0-3", b"8192", b"-1", b"1 2", b"\xff"] {
            assert!(parse(bad).is_empty(), "{bad:?}");
        }
    }
}
