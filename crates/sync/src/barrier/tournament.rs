//! A tournament of groups of `arity`: in each round the lowest rank of a group waits for the others and goes on to the
//! next round; the champion starts the release, and each winner releases its losers.

use super::call::Call;
use super::lend::Line;
use crate::number::Flag;
use crate::padded::Padded;
use crate::wait::Ended;

#[derive(Debug)]
pub(super) struct Tournament {
    players: Box<[Padded<Player>]>,
    arrivals: Box<[Padded<Flag>]>,
    releases: Box<[Padded<Flag>]>,
}

#[derive(Debug)]
struct Player {
    /// The ranks that it meets and beats, in the order of rounds.
    losers: Box<[usize]>,
    /// The rank that finally beats it; `None` for the champion.
    winner: Option<usize>,
}

impl Tournament {
    pub(super) fn new(threads: usize, arity: usize) -> Self {
        let flags = || (0..threads).map(|_| Padded(Flag::new())).collect();
        let player = |rank| Padded(Player::new(rank, threads, arity));
        Self { players: (0..threads).map(player).collect(), arrivals: flags(), releases: flags() }
    }

    pub(super) fn wait(&self, call: Call<'_>) -> Result<(), Ended> {
        let player = &self.players[call.rank];
        for &loser in &player.losers {
            call.wait_for(loser, &self.arrivals[loser])?;
        }
        if let Some(winner) = player.winner {
            call.raise(&self.arrivals[call.rank]);
            call.wait_for(winner, &self.releases[winner])?;
        }
        if !player.losers.is_empty() {
            call.raise(&self.releases[call.rank]);
        }
        Ok(())
    }

    /// The lines of the flags that are ever raised.
    pub(super) fn lines(&mut self) -> impl Iterator<Item = Line<'_>> {
        let places = self.players.iter().zip(self.arrivals.iter_mut().zip(&mut self.releases));
        places
            .flat_map(|(player, (arrival, release))| {
                let arrival = player.winner.is_some().then_some(arrival);
                let release = (!player.losers.is_empty()).then_some(release);
                arrival.into_iter().chain(release)
            })
            .map(Line::of)
    }
}

impl Player {
    fn new(rank: usize, threads: usize, arity: usize) -> Self {
        let mut losers = Vec::new();
        let mut stride = 1;
        while stride < threads {
            let group = stride * arity;
            if !rank.is_multiple_of(group) {
                return Self { losers: losers.into(), winner: Some(rank - rank % group) };
            }
            losers.extend((1..arity).map(|place| rank + place * stride).filter(|&loser| loser < threads));
            stride = group;
        }
        Self { losers: losers.into(), winner: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_but_the_champion_loses_once_and_to_whom_waits_for_it() {
        for arity in 2..6 {
            for threads in 1..70 {
                let players: Vec<_> = (0..threads).map(|rank| Player::new(rank, threads, arity)).collect();
                let mut lost = vec![0; threads];
                for (rank, player) in players.iter().enumerate() {
                    for &loser in &player.losers {
                        assert_eq!(players[loser].winner, Some(rank));
                        lost[loser] += 1;
                    }
                    assert!(player.losers.is_sorted());
                }
                assert_eq!(players[0].winner, None);
                assert_eq!(lost[0], 0);
                assert!(
                    lost[1..].iter().all(|&lost| lost == 1),
                    "{threads} threads, arity {arity}: {lost:?}"
                );
            }
        }
    }
}
