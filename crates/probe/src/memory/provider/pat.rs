//! The kernel's list of memory that is not cached as usual: `pat_memtype_list`, for root. RAM is not in it: its type is
//! recorded for each page.

use std::ops::Range;
use std::path::Path;

/// What the list under a debugfs says about these physical addresses; `None` if it cannot be read or says nothing.
pub(super) fn type_of(debugfs: &Path, addresses: &Range<u64>) -> Option<String> {
    let list = std::fs::read_to_string(debugfs.join("x86/pat_memtype_list")).ok()?;
    find(&list, addresses)
}

/// The type of the first entry that holds the first of the addresses.
fn find(list: &str, addresses: &Range<u64>) -> Option<String> {
    list.lines().filter_map(entry).find(|(range, _)| range.contains(&addresses.start)).map(|(_, name)| name)
}

/// `PAT: [mem 0xfd000000-0xfe000000] write-combining`; before Linux 5.8 `write-combining @ 0xfd000000-0xfe000000`.
fn entry(line: &str) -> Option<(Range<u64>, String)> {
    let (range, name) = match line.split_once('@') {
        Some((name, range)) => (range, name),
        None => line.strip_prefix("PAT:")?.trim_start().strip_prefix("[mem")?.split_once(']')?,
    };
    let (start, end) = range.trim().split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    Some((number(start)?..number(end)?, name.trim().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lists_of_old_and_new_kernels() {
        let new = "PAT memtype list:\nPAT: [mem 0x00000000bffe0000-0x00000000bffe2000] write-back\n\
                   PAT: [mem 0x00000000fd000000-0x00000000fe000000] write-combining\n";
        assert_eq!(find(new, &(0xfd00_1000..0xfd00_2000)), Some("write-combining".into()));
        assert_eq!(find(new, &(0xfe00_0000..0xfe00_1000)), None);
        let old = "PAT memtype list:\nuncached-minus @ 0xfed1f000-0xfed20000\n";
        assert_eq!(find(old, &(0xfed1_f000..0xfed2_0000)), Some("uncached-minus".into()));
        assert_eq!(find("nonsense\n@\nPAT: [mem 1-2] x\n", &(0..1)), None);
    }
}
