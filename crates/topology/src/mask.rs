//! Sets as masks of 32-bit words, most significant first: `0x0000000f,0xffffffff` in hwloc's XML, `0000000f,ffffffff` in
//! sysfs.

use crate::{CpuSet, Error, MAX_CPUS};

/// Reads a set.
///
/// # Errors
/// If a word is not a hexadecimal number, or the set is infinite (`0xf...f`) or holds a CPU beyond the largest
/// supported.
pub(crate) fn parse(text: &str) -> Result<CpuSet, Error> {
    let failed = |why: &str| {
        let start: String = text.chars().take(40).collect();
        Error::new(format!("set '{start}' {why}"))
    };
    if text.split(',').count() > MAX_CPUS as usize / 32 {
        return Err(failed("holds more CPUs than any machine has"));
    }
    let mut words = Vec::new();
    for (position, word) in text.split(',').rev().enumerate() {
        let digits = word.trim().trim_start_matches("0x");
        if digits.contains("...") {
            return Err(failed("is infinite"));
        }
        // A zero word in the middle may be left empty.
        let word = match digits {
            "" if !text.trim().is_empty() => 0,
            digits => {
                u32::from_str_radix(digits, 16).map_err(|_| failed("is not a list of hexadecimal words"))?
            }
        };
        match position % 2 {
            0 => words.push(u64::from(word)),
            _ => words[position / 2] |= u64::from(word) << 32,
        }
    }
    Ok(CpuSet::try_from_words(&words)?)
}

/// Writes a set.
pub(crate) fn print(set: &CpuSet) -> String {
    let mut words: Vec<u32> =
        set.words().iter().flat_map(|&word| [word as u32, (word >> 32) as u32]).collect();
    while words.len() > 1 && words.last() == Some(&0) {
        words.pop();
    }
    let print = |word: &u32| format!("{word:#010x}");
    match words.is_empty() {
        true => "0x0".to_owned(),
        false => words.iter().rev().map(print).collect::<Vec<_>>().join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_round_trip() {
        for (list, text) in [
            ("", "0x0"),
            ("0-3", "0x0000000f"),
            ("32", "0x00000001,0x00000000"),
            ("0,95", "0x80000000,0x00000000,0x00000001"),
        ] {
            let set: CpuSet = list.parse().unwrap();
            assert_eq!(print(&set), text);
            assert_eq!(parse(text).unwrap(), set);
        }
        assert_eq!(parse("0x1,,0x2").unwrap(), "1,64".parse().unwrap());
    }

    #[test]
    fn bad_sets_are_errors() {
        let long = "0x1,".repeat(3000) + "0x0";
        for (text, part) in
            [("0xf...f", "infinite"), ("", "hexadecimal"), ("0xg", "hexadecimal"), (&long, "more CPUs")]
        {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
