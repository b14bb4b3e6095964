//! Dissemination: in round j each thread hears from those `radix^j`, `2 radix^j`, ... ranks before it.

use super::rounds::Schedule;

pub(super) fn schedule(threads: usize, radix: usize) -> Schedule {
    let strides: Vec<_> =
        std::iter::successors(Some(1), |stride| Some(stride * radix)).take_while(|&s| s < threads).collect();
    let round = |rank: usize, stride: usize| -> Vec<usize> {
        // Beyond `threads` it would hear from a rank a second time, or from itself.
        let hops = (1..radix).map(|hop| hop * stride).take_while(|&back| back < threads);
        hops.map(|back| (rank + threads - back) % threads).collect()
    };
    (0..threads).map(|rank| strides.iter().map(|&stride| round(rank, stride)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::rounds::is_complete;
    use super::*;

    #[test]
    fn everybody_hears_of_everybody() {
        for radix in 2..6 {
            for threads in 1..40 {
                assert!(is_complete(&schedule(threads, radix)), "{threads} threads, radix {radix}");
            }
        }
    }

    #[test]
    fn two_to_the_n_threads_take_n_rounds() {
        assert_eq!(schedule(8, 2)[0], [[7], [6], [4]]);
        assert_eq!(schedule(1, 2), [Vec::<Vec<usize>>::new()]);
    }
}
