//! What each member has of a loop with a static schedule, as compiled code asks for it: bounds that include the last
//! iteration.

use crate::sharing::{Bounds, dealt};

/// A member's first chunk of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    pub lower: u64,
    pub upper: u64,
    /// From the first chunk to the next.
    pub stride: u64,
    /// Whether one of the member's chunks has the last iteration.
    pub has_last: bool,
}

/// How iterations are dealt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deal {
    /// A share each.
    Shares,
    /// Chunks of this many iterations, in turn.
    Chunks(u64),
    /// A share each, of whole chunks of this many iterations.
    WholeChunks(u64),
}

impl Deal {
    /// The first chunk of the member of this rank of `size`, of a loop that has iterations.
    #[inline]
    pub fn first(self, bounds: &Bounds, rank: u64, size: u64) -> Chunk {
        let count = bounds.count;
        match self {
            Self::Shares => {
                let range = dealt(count, 0, (rank, size), 0).unwrap_or(count..count);
                let has_last = range.end == count && range.start < count;
                let (lower, upper) = bounds.ends(&range);
                Chunk { lower, upper, stride: count, has_last }
            }
            Self::Chunks(length) => {
                let length = length.max(1);
                let from = rank.wrapping_mul(length);
                let (lower, upper) = bounds.ends(&(from..from.wrapping_add(length)));
                let stride = bounds.at(length.wrapping_mul(size)).wrapping_sub(bounds.at(0));
                Chunk { lower, upper, stride, has_last: (count - 1) / length % size == rank }
            }
            Self::WholeChunks(length) => {
                let length = length.max(1);
                let each = count.div_ceil(size).div_ceil(length).saturating_mul(length);
                let from = rank.saturating_mul(each).min(count);
                let range = from..from.saturating_add(each).min(count);
                let has_last = range.end == count && range.start < count;
                let (lower, upper) = bounds.ends(&range);
                Chunk { lower, upper, stride: count, has_last }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A member's iterations, counted from 0.
    fn had(deal: Deal, (lower, upper, step): (i64, i64, i64), rank: u64, size: u64) -> (Vec<i64>, bool) {
        let bounds = Bounds::through(lower as u64, upper as u64, step, true);
        let Chunk { lower: mut from, upper: mut to, stride, has_last } = deal.first(&bounds, rank, size);
        let (mut values, up) = (Vec::new(), step > 0);
        let within = |value: i64, last: i64| if up { value <= last } else { value >= last };
        while within(from as i64, upper) {
            let mut value = from as i64;
            while within(value, to as i64) && within(value, upper) {
                values.push(value);
                value += step;
            }
            if !matches!(deal, Deal::Chunks(_)) {
                break;
            }
            (from, to) = (from.wrapping_add(stride), to.wrapping_add(stride));
        }
        (values, has_last)
    }

    #[test]
    fn every_iteration_is_dealt_once_and_one_member_has_the_last() {
        for loop_ in [(0, 9, 1), (0, 9, 3), (9, 0, -2), (-5, 40, 7), (3, 3, 1), (1, 64, 1)] {
            for size in 1..7 {
                for deal in [Deal::Shares, Deal::Chunks(1), Deal::Chunks(3), Deal::WholeChunks(4)] {
                    let parts: Vec<_> = (0..size).map(|rank| had(deal, loop_, rank, size)).collect();
                    let mut values: Vec<_> = parts.iter().flat_map(|part| part.0.clone()).collect();
                    values.sort_unstable();
                    let (from, to, step) = loop_;
                    let mut expected: Vec<_> = std::iter::successors(Some(from), |value| Some(value + step))
                        .take_while(|value| if step > 0 { *value <= to } else { *value >= to })
                        .collect();
                    let last = *expected.last().unwrap();
                    expected.sort_unstable();
                    assert_eq!(values, expected, "{loop_:?} {deal:?} {size}");
                    for (values, has_last) in parts {
                        assert_eq!(has_last, values.contains(&last), "{loop_:?} {deal:?} {size}");
                    }
                }
            }
        }
    }
}
