//! Which ranks are near each other, and how to group them.

/// A partition of the ranks.
pub(super) type Groups = Vec<Vec<usize>>;

/// A partition of the ranks by a level of the machine.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tier {
    /// The usual one-way time inside a group, in ns.
    pub(super) usual_ns: f64,
    pub(super) groups: Groups,
}

/// How near the CPUs of the ranks are to each other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    /// Partitions from the nearest level outwards, each coarser than the one before. Those into single ranks and into one
    /// group are left out.
    pub(super) tiers: Vec<Tier>,
    /// The usual one-way time between any two of them, in ns.
    pub(super) usual_ns: f64,
}

/// The assumed one-way time between CPUs about which nothing is known, in ns. Only its rough ratio to the times of the
/// levels matters.
pub(super) const USUAL_NS: f64 = 140.0;

impl Layout {
    pub(super) const UNKNOWN: Self = Self { tiers: Vec::new(), usual_ns: USUAL_NS };
}

/// Neighbouring ranks in blocks of at most `size`.
pub(super) fn blocks(threads: usize, size: usize) -> Groups {
    (0..threads).collect::<Vec<_>>().chunks(size).map(<[usize]>::to_vec).collect()
}

/// The groups of a grid. If a size is given, those of a level of that size, or else blocks of it. Otherwise those of
/// the level whose two rounds read the fewest lines, or blocks of about the square root if there is no level.
pub(super) fn grid(levels: &[Groups], size: Option<usize>, threads: usize) -> Groups {
    let largest = |groups: &Groups| groups.iter().map(Vec::len).max().unwrap_or(0);
    let level = match size {
        Some(size) => levels.iter().find(|groups| largest(groups) == size),
        None => levels.iter().min_by_key(|groups| groups.len() + largest(groups)),
    };
    level.cloned().unwrap_or_else(|| blocks(threads, size.unwrap_or(threads.isqrt()).max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_of_the_size_or_of_the_fewest_lines_or_blocks() {
        let levels = [blocks(16, 4), blocks(16, 8)];
        assert_eq!(grid(&levels, None, 16), blocks(16, 4));
        assert_eq!(grid(&levels, Some(8), 16), blocks(16, 8));
        assert_eq!(grid(&levels, Some(2), 16), blocks(16, 2));
        assert_eq!(grid(&[], None, 5), [vec![0, 1], vec![2, 3], vec![4]]);
        assert_eq!(grid(&[], None, 1), [vec![0]]);
    }
}
