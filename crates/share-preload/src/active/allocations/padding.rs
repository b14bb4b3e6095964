//! Sites whose memory gets cache lines of its own.

use std::sync::OnceLock;

use super::frames;

/// Two lines: CPUs fetch pairs of them.
pub const LINES: usize = 128;

/// The sites: their module's name, hashed, and the address that their call returns to, in its file.
static SITES: OnceLock<Vec<(u64, u64)>> = OnceLock::new();

/// Reads the list; whether it names a site.
pub fn begin(list: &[u8]) -> bool {
    SITES.set(parse(list)).is_ok() && SITES.get().is_some_and(|sites| !sites.is_empty())
}

fn parse(list: &[u8]) -> Vec<(u64, u64)> {
    let site = |part: &[u8]| {
        let plus = part.iter().rposition(|&byte| byte == b'+')?;
        let digits = std::str::from_utf8(&part[plus + 1..]).ok()?.strip_prefix("0x")?;
        Some((frames::hash(&part[..plus]), u64::from_str_radix(digits, 16).ok()?))
    };
    list.split(|&byte| byte == b',').filter_map(site).collect()
}

/// Whether what a call that returns there allocates is padded.
pub fn is_padded(pc: u64) -> bool {
    SITES.get().is_some_and(|sites| frames::located(pc).is_some_and(|place| sites.contains(&place)))
}

/// A block's bytes, so that nothing else lies in its lines; `None` if there are too many.
pub fn rounded(bytes: usize) -> Option<usize> {
    bytes.max(1).checked_next_multiple_of(LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_read_by_module_and_address() {
        let hash = |name: &str| frames::hash(name.as_bytes());
        assert_eq!(parse(b"a.out+0x12ab,lib+c.so+0x1"), [(hash("a.out"), 0x12ab), (hash("lib+c.so"), 1)]);
        assert_eq!(parse(b",x,+,a+12,b+0xg,\xff+0x2"), [(frames::hash(b"\xff"), 2)]);
    }
}
