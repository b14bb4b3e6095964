//! Which hosts execute which calls: `COHO_DELEGATE_CPUS`.
//!
//! Hosts are a team's where they stand for calls of their own, as in `2,3 write=4 stat,open=5,6`: two teams beside the one of
//! all other calls. A team's hosts take the threads in turn.

use crate::calls::Call;

/// The teams' CPUs, and each call's team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Teams {
    /// Never without a team; one without CPUs is anywhere.
    cpus: Vec<Vec<u32>>,
    of: [u8; Call::ALL.len()],
}

impl Teams {
    /// Parts between spaces: CPUs, or calls and their CPUs. Calls of no part have all CPUs. `None` if it says something else.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (mut cpus, mut of, mut others) = (Vec::new(), [None; Call::ALL.len()], None);
        for part in text.split(' ').filter(|part| !part.is_empty()) {
            let number = u8::try_from(cpus.len()).ok()?;
            let list = match part.split_once('=') {
                None if others.is_some() => return None,
                None => {
                    others = Some(number);
                    part
                }
                Some((names, list)) => {
                    for name in names.split(',') {
                        let call = Call::ALL.into_iter().find(|call| call.name() == name)?;
                        of[call as usize] = Some(number);
                    }
                    list
                }
            };
            cpus.push(list.split(',').map(|cpu| cpu.parse().ok()).collect::<Option<Vec<u32>>>()?);
        }
        let others = others.unwrap_or_else(|| {
            cpus.push(cpus.concat());
            u8::try_from(cpus.len() - 1).unwrap_or(0)
        });
        Some(Self { cpus, of: of.map(|team| team.unwrap_or(others)) })
    }

    /// Those of the process whose turn it is: one CPU of each team.
    pub fn of_turn(&self, turn: usize) -> Self {
        let one = |cpus: &Vec<u32>| cpus.get(turn % cpus.len().max(1)).copied().into_iter().collect();
        Self { cpus: self.cpus.iter().map(one).collect(), of: self.of }
    }

    #[inline(always)]
    pub fn of(&self, call: Call) -> usize {
        self.of[call as usize].into()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.cpus.len()
    }

    /// Each CPU once, in ascending order.
    pub fn all_cpus(&self) -> Vec<u32> {
        let mut all = self.cpus.concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Where a team's host for its n-th thread stands among [all CPUs](Self::all_cpus), or among the one that is anywhere.
    pub fn place(&self, team: usize, thread: usize) -> usize {
        let cpus = &self.cpus[team];
        let cpu = cpus.get(thread % cpus.len().max(1));
        cpu.and_then(|cpu| self.all_cpus().binary_search(cpu).ok()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_their_own_hosts_and_threads_take_turns() {
        let teams = Teams::parse(b"2,3 write=4 stat,open=5,2").unwrap();
        assert_eq!((teams.count(), teams.all_cpus()), (3, vec![2, 3, 4, 5]));
        let cpus = |call, threads: [usize; 3]| {
            threads.map(|thread| teams.all_cpus()[teams.place(teams.of(call), thread)])
        };
        assert_eq!(cpus(Call::Read, [0, 1, 2]), [2, 3, 2]);
        assert_eq!(cpus(Call::Write, [0, 1, 2]), [4, 4, 4]);
        assert_eq!((cpus(Call::Stat, [0, 1, 2]), cpus(Call::Open, [0, 1, 2])), ([5, 2, 5], [5, 2, 5]));
    }

    #[test]
    fn calls_of_no_part_have_all_hosts() {
        let teams = Teams::parse(b"write=4 stat=3").unwrap();
        assert_eq!((teams.of(Call::Read), teams.of(Call::Close), teams.count()), (2, 2, 3));
        assert_eq!([0, 1].map(|thread| teams.all_cpus()[teams.place(2, thread)]), [4, 3]);
        let anywhere = Teams::parse(b"").unwrap();
        assert_eq!((anywhere.count(), anywhere.all_cpus(), anywhere.place(0, 5)), (1, vec![], 0));
    }

    #[test]
    fn a_process_whose_turn_it_is_has_one_cpu_of_each_list() {
        let teams = Teams::parse(b"2,3 write=4,5,6").unwrap();
        for (turn, own) in [(0, vec![2, 4]), (1, vec![3, 5]), (2, vec![2, 6]), (3, vec![3, 4])] {
            let of_turn = teams.of_turn(turn);
            assert_eq!((of_turn.all_cpus(), of_turn.count()), (own.clone(), 2));
            let cpu = |call| of_turn.all_cpus()[of_turn.place(of_turn.of(call), 5)];
            assert_eq!([cpu(Call::Read), cpu(Call::Write)], own[..]);
        }
        assert!(Teams::parse(b"").unwrap().of_turn(3).all_cpus().is_empty());
    }

    #[test]
    fn nonsense_is_refused() {
        for wrong in ["x", "2,", "getpid=2", "write=", "=2", "write=2=3", "2-3", "2 3"] {
            assert_eq!(Teams::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
