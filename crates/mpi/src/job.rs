//! All ranks of a job: which of them share a node, and how they wait for each other.

use std::ptr::NonNull;
use std::time::Duration;

use anyhow::{Result, ensure};
use coho_probe::mpi::{Library, Node, done};
use coho_sync::{ProcessBarrier, WaitPolicy};

/// How long ranks of a node may take to come to a barrier for the first time.
const JOINING: Duration = Duration::from_secs(60);

/// A job, as one of its ranks sees it.
pub(crate) struct Job<'l> {
    pub(crate) library: &'l Library,
    /// This rank's node.
    pub(crate) node: Node,
    /// Each node's first rank, in the order of ranks, and how many it has.
    pub(crate) nodes: Vec<(usize, usize)>,
    /// Memory that the node's ranks share, and how much is left.
    memory: NonNull<u8>,
}

/// Space between the barriers in the shared memory.
const PAGE: usize = 4096;

impl<'l> Job<'l> {
    /// Finds out who shares a node, with memory for so many barriers in each.
    pub(crate) fn begin(library: &'l Library, barriers: usize) -> Result<Self> {
        let node = library.node()?;
        let memory = library.share(barriers * space(node.ranks))?;
        let own = [node.leader as u64, node.ranks as u64].map(u64::to_le_bytes).concat();
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes")) as usize;
        let mut nodes: Vec<_> =
            library.gather(&own)?.iter().map(|told| (word(&told[..8]), word(&told[8..]))).collect();
        nodes.sort_unstable();
        nodes.dedup();
        ensure!(
            nodes.iter().map(|(_, ranks)| ranks).sum::<usize>() == library.ranks as usize,
            "the ranks disagree about who shares a node"
        );
        Ok(Self { library, node, nodes, memory })
    }

    /// A barrier of all ranks, in the place of this number. Each place is used once.
    pub(crate) fn barrier(&self, place: usize) -> Result<Barrier<'_>> {
        let space = space(self.node.ranks);
        // SAFETY: within the memory, which is the barriers' own and stays until MPI ends, after `self`.
        let of_node = unsafe {
            let start = self.memory.add(place * space);
            ProcessBarrier::join(
                start,
                space,
                self.node.rank,
                self.node.ranks,
                WaitPolicy::Adaptive,
                JOINING,
            )?
        };
        let at = self.nodes.iter().position(|(leader, _)| *leader == self.node.leader);
        let leads = self.node.rank == 0 && self.nodes.len() > 1;
        Ok(Barrier { job: self, of_node, between: at.filter(|_| leads) })
    }
}

fn space(ranks: usize) -> usize {
    ProcessBarrier::bytes(ranks).next_multiple_of(PAGE)
}

/// A barrier of all ranks of a job: FBS inside a node; between nodes, their first ranks hear of each other by dissemination,
/// in messages of MPI, while the others wait at a second barrier inside.
pub(crate) struct Barrier<'j> {
    job: &'j Job<'j>,
    of_node: ProcessBarrier,
    /// The number of the node whose messages this rank sends and receives.
    between: Option<usize>,
}

impl Barrier<'_> {
    /// Waits for all ranks.
    #[inline]
    pub(crate) fn wait(&self) -> Result<()> {
        self.of_node.wait()?;
        if self.job.nodes.len() > 1 {
            self.across()?;
        }
        Ok(())
    }

    #[inline(never)]
    fn across(&self) -> Result<()> {
        if let Some(node) = self.between {
            let nodes = &self.job.nodes;
            for stride in strides(nodes.len()) {
                let (to, from) = ((node + stride) % nodes.len(), (node + nodes.len() - stride) % nodes.len());
                done(self.job.library.exchange(nodes[to].0, nodes[from].0))?;
            }
        }
        Ok(self.of_node.wait()?)
    }
}

/// How far each round's message goes: after the last, each node has heard of all.
fn strides(nodes: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |stride| Some(2 * stride)).take_while(move |stride| *stride < nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_hears_of_all() {
        for nodes in 1..20 {
            // Which nodes each one knows of.
            let mut known: Vec<Vec<bool>> =
                (0..nodes).map(|node| (0..nodes).map(|other| other == node).collect()).collect();
            for stride in strides(nodes) {
                let before = known.clone();
                for (node, known) in known.iter_mut().enumerate() {
                    let from = &before[(node + nodes - stride) % nodes];
                    known.iter_mut().zip(from).for_each(|(mine, theirs)| *mine |= theirs);
                }
            }
            assert!(known.iter().flatten().all(|&knows| knows), "{nodes}");
        }
    }
}
