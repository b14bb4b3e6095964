//! Ranks of several nodes: namespaces with a network, a host name and shared memory of their own, on a bridge.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use coho_platform::scratch::{Folder, Wish};
use coho_testing::{Capability, alone, needs};

use super::{found, launchers};

/// What stands in for ssh: the last number of an address names the node.
const AGENT: &str = r#"#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
node=${1##*.}
shift
exec ip netns exec "NAME-$node" unshare --uts --ipc --mount sh -c '
    mount -t tmpfs shm /dev/shm && hostname HOST && eval "$*"' "$node" "$@"
"#;

/// Nodes on a network of their own, which end with it.
pub(super) struct Nodes {
    name: String,
    nodes: usize,
    folder: Folder,
}

pub(super) fn is_open_mpi(launcher: &Path) -> bool {
    launcher.ends_with("orterun") || launcher.ends_with("prterun")
}

fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(done.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&done.stderr));
}

impl Nodes {
    /// Called node1, node2, …
    pub(super) fn start(nodes: usize) -> Self {
        Self::start_called(nodes, "\"node$0\"")
    }

    /// Called as these words of the agent say.
    pub(super) fn start_called(nodes: usize, host: &str) -> Self {
        // Not in /dev/shm, which each node has of its own.
        let parent = std::env::temp_dir();
        let wish = Wish { name: "mpi-nodes", parent: Some(&parent), runs_programs: true };
        let name = format!("coho-test-{}", std::process::id());
        let this = Self { name, nodes, folder: Folder::create(wish).unwrap() };
        let name = &this.name;
        let agent = this.agent();
        std::fs::write(&agent, AGENT.replace("NAME", name).replace("HOST", host)).unwrap();
        std::fs::set_permissions(&agent, PermissionsExt::from_mode(0o755)).unwrap();
        ip(&format!("netns add {name}-0"));
        ip(&format!("-n {name}-0 link add bridge type bridge"));
        ip(&format!("-n {name}-0 link set bridge up"));
        for node in 1..=nodes {
            ip(&format!("netns add {name}-{node}"));
            ip(&format!("-n {name}-{node} link add eth0 type veth peer name port{node} netns {name}-0"));
            ip(&format!("-n {name}-0 link set port{node} master bridge up"));
            ip(&format!("-n {name}-{node} addr add 10.77.0.{node}/24 dev eth0"));
            ip(&format!("-n {name}-{node} link set eth0 up"));
            ip(&format!("-n {name}-{node} link set lo up"));
        }
        this
    }

    fn agent(&self) -> PathBuf {
        self.folder.path().join("agent")
    }

    /// The words that launch so many ranks on each node, from the first.
    pub(super) fn launcher(&self, launcher: &Path, each: usize) -> Vec<String> {
        let agent = self.agent().display().to_string();
        let address = |node: usize| format!("10.77.0.{node}:{each}");
        let hosts = (1..=self.nodes).map(address).collect::<Vec<_>>().join(",");
        let mut words = vec![agent.clone(), "10.77.0.1".into(), launcher.display().to_string()];
        let own = format!(
            "--mca plm_rsh_agent {agent} --mca pml ob1 --mca btl tcp,vader,self --mca btl_tcp_if_include \
             10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 --host {hosts}"
        );
        words.extend(own.split_whitespace().map(Into::into));
        words.extend(["-n".to_owned(), (each * self.nodes).to_string()]);
        words
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in 0..=self.nodes {
            let _ = Command::new("ip").args(["netns", "delete", &format!("{}-{node}", self.name)]).status();
        }
    }
}

#[test]
fn nodes_meet_at_both_barriers() {
    needs!(Capability::OpenMpi, Capability::Hosts);
    let _alone = alone();
    for (nodes, each) in [(3, 1), (2, 2)] {
        let network = Nodes::start(nodes);
        // Debian's MPICH, 4.0.2 over UCX, was seen to hang in MPI_Finalize where ranks meet over TCP.
        let launchers: Vec<_> = launchers().into_iter().filter(|launcher| is_open_mpi(launcher)).collect();
        assert!(!launchers.is_empty());
        for launcher in launchers {
            let words = network.launcher(&launcher, each);
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            assert_eq!(found(&words).ranks_of_nodes, vec![each; nodes], "{}", launcher.display());
        }
    }
}
