//! The nodes of a job: their host names, their ranks, and what their profiles are called.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use coho_platform::identity::Identity;
use coho_profile::SurveyedNode;
use serde::{Deserialize, Serialize};

use crate::job::Job;

/// A node of this job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Node {
    /// What it calls itself.
    pub(super) host: String,
    /// Its kernel's boot, which nodes share that are containers of one machine.
    pub(super) boot: Option<String>,
    /// Its ranks, the first of which acts for it.
    pub(super) ranks: Vec<u32>,
}

impl Node {
    pub(super) fn leader(&self) -> usize {
        self.ranks[0] as usize
    }

    pub(super) fn leads(&self, rank: u32) -> bool {
        self.ranks[0] == rank
    }
}

/// What each rank says of itself.
#[derive(Debug, Serialize, Deserialize)]
struct Rank {
    leader: usize,
    host: String,
    boot: Option<String>,
}

/// This job's nodes, in the order of their first ranks; all ranks call it.
pub(super) fn of(job: &Job<'_>) -> Result<Vec<Node>> {
    let host = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = String::from_utf8_lossy(&host).trim().to_owned();
    let own = Rank { leader: job.node.leader, host, boot: Identity::of_this_machine().boot };
    let mut nodes = BTreeMap::<usize, Node>::new();
    for (rank, Rank { leader, host, boot }) in (0..).zip(job.hear(&own)?) {
        let node = nodes.entry(leader).or_insert_with(|| Node { host, boot, ranks: Vec::new() });
        node.ranks.push(rank);
    }
    Ok(nodes.into_values().collect())
}

/// Adds those nodes to a list that are not in it, and returns the place of each. Nodes are known by their host names;
/// new ones of one name get files of their own.
///
/// # Errors
/// If the list has nodes of a name that several have, so that none of them can be recognised.
pub(super) fn list(known: &mut Vec<SurveyedNode>, here: &[Node]) -> Result<Vec<usize>, String> {
    let earlier = known.len();
    let mut files: BTreeSet<String> = known.iter().map(|node| node.file.clone()).collect();
    let mut places = Vec::new();
    for Node { host, ranks, .. } in here {
        let alike: Vec<usize> = (0..earlier).filter(|place| known[*place].host == *host).collect();
        let namesakes = here.iter().filter(|other| other.host == *host).count();
        match alike[..] {
            [] => {
                let file = free(host, &files);
                files.insert(file.clone());
                places.push(known.len());
                known.push(SurveyedNode { host: host.clone(), file, ranks: ranks.clone() });
            }
            [place] if namesakes == 1 => {
                known[place].ranks.clone_from(ranks);
                places.push(place);
            }
            _ => {
                return Err(format!(
                    "several nodes are called {}, so it cannot be told which of them is missing: give each a name of its \
                     own, or survey all of them into another folder",
                    host.escape_debug()
                ));
            }
        }
    }
    Ok(places)
}

/// The name of a host's profile that no other file has.
fn free(host: &str, taken: &BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let stem: String = host.chars().take(200).map(plain).collect();
    let stem = match stem.trim_start_matches('.') {
        "" => "node",
        stem => stem,
    };
    let names = (1..).map(|n| if n == 1 { format!("{stem}.json") } else { format!("{stem}-{n}.json") });
    let is_free = |name: &String| name != super::MANIFEST && !taken.contains(name);
    names.into_iter().find(is_free).expect("some number is free")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(hosts: &[&str]) -> Vec<Node> {
        let node =
            |(rank, host): (u32, &&str)| Node { host: (*host).into(), ranks: vec![rank], ..Node::default() };
        (0..).zip(hosts).map(node).collect()
    }

    fn files(hosts: &[&str]) -> Vec<String> {
        let mut known = Vec::new();
        list(&mut known, &here(hosts)).unwrap();
        known.into_iter().map(|node| node.file).collect()
    }

    #[test]
    fn each_node_has_a_file_of_its_own_in_the_folder() {
        assert_eq!(files(&["a", "b"]), ["a.json", "b.json"]);
        assert_eq!(files(&["a", "a-2", "a", "a"]), ["a.json", "a-2.json", "a-3.json", "a-4.json"]);
        assert_eq!(
            files(&["manifest", "../x/y", "", "é"]),
            ["manifest-2.json", "_x_y.json", "node.json", "_.json"]
        );
    }

    #[test]
    fn a_later_job_knows_nodes_by_their_names_and_adds_others() {
        let mut known = Vec::new();
        list(&mut known, &here(&["a", "b", "c"])).unwrap();
        assert_eq!(list(&mut known, &here(&["d", "c", "a"])), Ok(vec![3, 2, 0]));
        let ranks: Vec<_> = known.iter().map(|node| node.ranks[0]).collect();
        assert_eq!(ranks, [2, 1, 1, 0]);
        assert!(list(&mut known, &here(&["b", "b"])).unwrap_err().contains("several nodes are called b"));
    }
}
