//! All ranks of a job: which of them share a node, and how they wait for each other.

use std::fmt;
use std::hint::black_box;
use std::ptr::NonNull;
use std::time::Duration;

use anyhow::{Result, ensure};
use coho_probe::mpi::{Library, Node, done};
use coho_sync::{ProcessBarrier, WaitPolicy};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How long ranks of a node may take to come to a barrier for the first time.
const JOINING: Duration = Duration::from_secs(60);

/// This program's version.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What all ranks compare before they say anything else to each other, in every version alike.
static PROGRAM: [u8; 32] = {
    let name = concat!("coho-mpi ", env!("CARGO_PKG_VERSION")).as_bytes();
    let (mut padded, mut at) = ([0; 32], 0);
    while at < name.len() {
        padded[at] = name[at];
        at += 1;
    }
    padded
};

/// Why all ranks end together: each of them has this error, and rank 0 says it.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Checks that all ranks are of one version of this program; all ranks call it.
pub(crate) fn check_version(library: &Library) -> Result<()> {
    // As the linker has left it, rather than as the compiler knows it.
    let all = library.gather(black_box(&PROGRAM))?;
    let name =
        |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').escape_debug().to_string();
    match all.iter().position(|other| *other != all[0]) {
        Some(rank) => Err(Refused(format!(
            "rank 0 is {} and rank {rank} is {}: all ranks must be of one version",
            name(&all[0]),
            name(&all[rank])
        ))
        .into()),
        None => Ok(()),
    }
}

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

    /// What rank 0 has to tell, which it alone gives; all ranks call it.
    pub(crate) fn tell<T: Serialize + DeserializeOwned>(&self, own: Option<&T>) -> Result<T> {
        let mut bytes = own.map(serde_json::to_vec).transpose()?.unwrap_or_default();
        let mut length = (bytes.len() as u64).to_le_bytes();
        self.library.bcast(&mut length)?;
        bytes.resize(u64::from_le_bytes(length) as usize, 0);
        self.library.bcast(&mut bytes)?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// What each rank has to say, in the order of ranks; all ranks call it.
    pub(crate) fn hear<T: Serialize + DeserializeOwned>(&self, own: &T) -> Result<Vec<T>> {
        let mut bytes = serde_json::to_vec(own)?;
        let lengths = self.library.gather(&(bytes.len() as u64).to_le_bytes())?;
        let lengths: Vec<usize> = lengths.iter().map(|told| word(told)).collect();
        bytes.resize(lengths.iter().copied().max().unwrap_or_default(), 0);
        let all = self.library.gather(&bytes)?;
        all.iter().zip(lengths).map(|(told, length)| Ok(serde_json::from_slice(&told[..length])?)).collect()
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

fn word(bytes: &[u8]) -> usize {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes")) as usize
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
