//! Sizes as people read them.

/// A size in bytes, in the largest binary unit that expresses it exactly with two decimals: `48 KiB`, `1.25 MiB`, `1.5
/// KiB`, `100001 B`. If none does, sizes of a mebibyte or more are rounded to two decimals.
///
/// ```
/// assert_eq!(coho_topology::size(1280 << 10), "1.25 MiB");
/// ```
pub fn size(bytes: u64) -> String {
    const UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];
    let reached = UNITS.into_iter().filter(|(_, shift)| bytes >> shift > 0);
    let is_exact = |(_, shift): &(&str, u32)| u128::from(bytes) * 100 % (1 << shift) == 0;
    let exact = reached.clone().find(is_exact);
    let rounded = reached.clone().next().filter(|_| bytes >= 1 << 20);
    let (unit, shift) = match exact {
        Some(("B" | "KiB", _)) if rounded.is_some() => rounded.unwrap_or(UNITS[4]),
        exact => exact.unwrap_or(UNITS[4]),
    };
    let digits = format!("{:.2}", bytes as f64 / (1u64 << shift) as f64);
    format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_the_largest_that_tells_the_size() {
        for (bytes, told) in [
            (0, "0 B"),
            (64, "64 B"),
            (1000, "1000 B"),
            (1536, "1.5 KiB"),
            (100_001, "100001 B"),
            (48 << 10, "48 KiB"),
            (1280 << 10, "1.25 MiB"),
            (161_280 << 10, "157.5 MiB"),
            (32 << 20, "32 MiB"),
            (8_144_388_096, "7.59 GiB"),
            ((1 << 20) + 1, "1 MiB"),
            (u64::MAX, "16777216 TiB"),
        ] {
            assert_eq!(size(bytes), told);
        }
    }
}
