//! FBS inside each group, then between the groups of the next level, and so on: a thread hears from one thread of each
//! neighbouring group, the one at its own place in that group, so that all lines are used equally. With one level of
//! groups this is the two-round grid.

use super::groups::Groups;
use super::rounds::Schedule;

pub(super) fn schedule(levels: &[Groups], threads: usize) -> Schedule {
    let mut schedule = vec![Vec::new(); threads];
    let mut inner: Groups = (0..threads).map(|rank| vec![rank]).collect();
    let all: Groups = vec![(0..threads).collect()];
    for outer in levels.iter().chain([&all]) {
        for group in outer {
            // The groups of the next level down that are in this one.
            let parts: Vec<_> = inner.iter().filter(|part| group.contains(&part[0])).collect();
            for part in &parts {
                for (place, &rank) in part.iter().enumerate() {
                    let others = parts.iter().filter(|other| other[0] != part[0]);
                    schedule[rank].push(others.map(|other| other[place % other.len()]).collect());
                }
            }
        }
        inner = outer.clone();
    }
    schedule
}

#[cfg(test)]
mod tests {
    use super::super::groups::blocks;
    use super::super::rounds::is_complete;
    use super::*;

    #[test]
    fn two_clusters_of_two_take_two_rounds() {
        let schedule = schedule(&[vec![vec![0, 1], vec![2, 3]]], 4);
        assert_eq!(schedule[0], [[1], [2]]);
        assert_eq!(schedule[3], [[2], [1]]);
    }

    #[test]
    fn everybody_hears_of_everybody_whatever_the_groups() {
        for threads in 1..40 {
            for size in 1..=threads {
                let inner = blocks(threads, size);
                assert!(is_complete(&schedule(std::slice::from_ref(&inner), threads)), "{threads}/{size}");
                // Groups of two or three groups.
                let outer: Groups = inner.chunks(3).map(|groups| groups.concat()).collect();
                assert!(is_complete(&schedule(&[inner, outer], threads)), "{threads}/{size}/3");
            }
        }
        // Unequal groups that are not contiguous.
        assert!(is_complete(&schedule(&[vec![vec![0, 4, 5, 6], vec![1, 3], vec![2]]], 7)));
    }
}
