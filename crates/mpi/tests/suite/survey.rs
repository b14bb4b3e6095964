//! `coho-mpi survey`: whose files are there after whatever ends a job.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use coho_profile::{Network, Profile};
use coho_testing::{Capability, alone, file_names, needs};

use super::nodes::{Nodes, is_open_mpi};
use super::{ENVIRONMENT, PATIENCE, PROGRAM, launchers, run};

/// A survey as short as it can be.
const SHORT: [&str; 3] = ["--quick", "--time-limit", "100ms"];

fn survey<'a>(folder: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["survey", "-o", folder], more, &SHORT].concat()
}

fn told(done: &Output) -> String {
    String::from_utf8_lossy(&done.stderr).into_owned()
}

fn manifest(folder: &Path) -> Network {
    Profile::read(&folder.join("manifest.json")).unwrap().network.unwrap()
}

/// This program's processes that have a word in their arguments: their numbers, and all arguments.
fn processes(word: &str) -> BTreeMap<i32, Vec<String>> {
    let of = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let text = fs::read(entry.path().join("cmdline")).ok()?;
        let words: Vec<_> =
            text.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let is_ours = words[0] == PROGRAM && words.iter().any(|one| one.contains(word));
        is_ours.then_some((pid, words))
    };
    fs::read_dir("/proc").unwrap().filter_map(|entry| of(entry.ok()?)).collect()
}

/// Waits until there is something.
fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The process that surveys a node, and the rank for which it does.
fn surveying(file: &Path) -> Option<(i32, i32)> {
    let unfinished = format!("{}.unfinished", file.display());
    let (pid, words) = processes(&unfinished).pop_first()?;
    let parent = words.iter().skip_while(|word| *word != "--parent").nth(1)?;
    Some((pid, parent.parse().ok()?))
}

fn signal(pid: i32, signal: i32) {
    // SAFETY: no memory is used.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0, "{pid}");
}

fn begin(launcher: &[String], arguments: &[&str]) -> Child {
    let mut command = Command::new("timeout");
    command.args(["-k", "5"]).arg(PATIENCE.as_secs().to_string()).args(launcher).arg(PROGRAM);
    command.args(arguments).envs(ENVIRONMENT);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Open MPI's launcher: Debian's MPICH, 4.0.2 over UCX, was seen to hang in MPI_Finalize between nodes.
fn open_mpi() -> PathBuf {
    launchers().into_iter().find(|launcher| is_open_mpi(launcher)).unwrap()
}

#[test]
fn one_rank_surveys_the_node_and_the_others_leave_its_cpus_alone() {
    needs!(Capability::Mpi);
    let _alone = alone();
    for launcher in launchers() {
        // MPICH's ranks spin by turns where they have to share CPUs.
        let ranks = if is_open_mpi(&launcher) { 4 } else { 2 };
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("new");
        let path = folder.to_str().unwrap();
        let words = [launcher.to_str().unwrap(), "-n", &ranks.to_string()].map(str::to_owned);
        let job = begin(&words, &["survey", "-o", path, "--quick", "--time-limit", "2s"]);
        let file = folder.join(format!("{}.json", hostname()));
        let (survey, leader) = until("a survey", || surveying(&file));
        let busy = |pid: i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
            let after: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
            after[11].parse::<u64>().unwrap() + after[12].parse::<u64>().unwrap()
        };
        let others: Vec<i32> =
            processes(path).into_keys().filter(|pid| ![survey, leader].contains(pid)).collect();
        assert_eq!(others.len(), ranks - 1);
        let ticks = |pids: &[i32]| pids.iter().map(|pid| busy(*pid)).sum::<u64>();
        let (begun, before) = (Instant::now(), ticks(&others));
        std::thread::sleep(Duration::from_secs(1));
        let used = ticks(&others) - before;
        // A tick is a hundredth of a second; one rank that spins has its share of the CPUs.
        let all = begun.elapsed().as_millis() as u64 / 10;
        assert!(used * 10 < all * others.len() as u64, "{used} ticks of {all}");
        let done = job.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", told(&done));
        assert_eq!(file_names(&folder).len(), 2, "its profile and the manifest: {:?}", file_names(&folder));
        assert!(Profile::read(&file).unwrap().coherence.is_some());
        let network = manifest(&folder);
        assert_eq!(network.nodes[0].ranks, (0..ranks as u32).collect::<Vec<_>>());
        assert!(network.quick && network.method.date.is_some() && network.library.contains("MPI"));

        // A second survey would overwrite the first one's files.
        let again = run(&[words[0].as_str(), "-n", "1"], &survey_of(path));
        assert!(!again.status.success() && told(&again).contains("--resume measures"), "{}", told(&again));
        let before = fs::read(&file).unwrap();
        let resumed = run(&[words[0].as_str(), "-n", "2"], &["survey", "-o", path, "--resume"]);
        assert!(
            resumed.status.success() && told(&resumed).contains("surveyed already"),
            "{}",
            told(&resumed)
        );
        assert_eq!(fs::read(&file).unwrap(), before);
    }
}

fn survey_of(folder: &str) -> Vec<&str> {
    survey(folder, &[])
}

fn hostname() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned()
}

#[test]
fn a_profile_that_is_there_is_not_overwritten() {
    needs!(Capability::Mpi);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("{}.json", hostname()));
    Profile::default().write(&file).unwrap();
    for launcher in launchers() {
        let done = run(&[launcher.to_str().unwrap(), "-n", "2"], &survey_of(folder.path().to_str().unwrap()));
        assert!(!done.status.success() && told(&done).contains("is there already"), "{}", told(&done));
        assert_eq!(Profile::read(&file).unwrap(), Profile::default());
        assert_eq!(file_names(folder.path()).len(), 1, "nothing else was written");
    }
}

#[test]
fn ranks_of_two_versions_are_refused() {
    needs!(Capability::Mpi);
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("coho-mpi");
    // The same program, but for the version that it says it is.
    let mut bytes = fs::read(PROGRAM).unwrap();
    let name = format!("coho-mpi {}", env!("CARGO_PKG_VERSION"));
    let places: Vec<usize> =
        (0..bytes.len() - name.len()).filter(|at| bytes[*at..].starts_with(name.as_bytes())).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at + "coho-mpi ".len()] = b'9';
    }
    fs::write(&other, bytes).unwrap();
    fs::set_permissions(&other, fs::metadata(PROGRAM).unwrap().permissions()).unwrap();
    let path = folder.path().join("out");
    let arguments = survey_of(path.to_str().unwrap());
    for launcher in launchers() {
        let second = [&[":", "-n", "1", other.to_str().unwrap()], &arguments[..]].concat();
        let done =
            run(&[launcher.to_str().unwrap(), "-n", "1"], &[arguments.as_slice(), &second[..]].concat());
        let told = told(&done);
        assert!(!done.status.success() && told.contains("rank 1 is coho-mpi 9"), "{told}");
        assert!(told.contains("all ranks must be of one version") && !path.exists(), "{told}");
    }
}

#[test]
fn a_full_disk_is_said_and_leaves_a_whole_manifest() {
    needs!(Capability::Mpi, Capability::Hosts);
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=16k small {path} || exit 9
         \"$@\"; status=$?; rm -f {path}/*.unfinished; cp {path}/* {path}.kept; exit $status"
    );
    let kept = PathBuf::from(format!("{path}.kept"));
    fs::create_dir(&kept).unwrap();
    let launcher = launchers().remove(0);
    let words = ["unshare", "--mount", "sh", "-c", &script, "sh", launcher.to_str().unwrap(), "-n", "2"];
    let done = run(&words, &survey_of(path));
    let told = told(&done);
    let (found, network) = (file_names(&kept), manifest(&kept));
    fs::remove_dir_all(&kept).unwrap();
    assert!(!done.status.success() && told.contains("No space left"), "{told}");
    assert!(told.contains("1 of 1 nodes could not be surveyed"), "{told}");
    assert_eq!(found, ["manifest.json"]);
    assert_eq!(network.nodes.len(), 1);
}

#[test]
fn three_nodes_are_surveyed_and_one_that_stops_for_a_while_is_waited_for() {
    needs!(Capability::OpenMpi, Capability::Hosts);
    let _alone = alone();
    let network = Nodes::start(3);
    let launcher = network.launcher(&open_mpi(), 1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let job = begin(&launcher, &survey_of(path));
    let (_, rank) = until("a survey", || surveying(&folder.path().join("node2.json")));
    signal(rank, libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(700));
    assert!(!folder.path().join("node2.json").exists(), "its rank names it, and stands still");
    signal(rank, libc::SIGCONT);
    let done = job.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", told(&done));
    assert!(told(&done).contains("node1 and node2 and node3 run on one kernel"), "{}", told(&done));
    assert_eq!(file_names(folder.path()), ["manifest.json", "node1.json", "node2.json", "node3.json"]);
    let listed = manifest(folder.path()).nodes;
    let hosts: Vec<_> = listed.iter().map(|node| (node.host.as_str(), &node.ranks[..])).collect();
    assert_eq!(hosts, [("node1", &[0][..]), ("node2", &[1]), ("node3", &[2])]);
    check_messages(&manifest(folder.path()), 3);
}

/// Every pair of the nodes has figures of messages that are as they must be anywhere.
fn check_messages(network: &Network, nodes: u32) {
    let alone = |pair: (u32, u32)| {
        let rows = network.messages.iter().filter(move |row| (row.a, row.b) == pair && row.at_once == 1);
        rows.map(|row| (row.bytes, row.one_way_ns.as_ref().unwrap())).collect::<BTreeMap<_, _>>()
    };
    for pair in (0..nodes).flat_map(|b| (0..b).map(move |a| (a, b))) {
        let times = alone(pair);
        assert_eq!((times.len(), times.keys().min(), times.keys().max()), (9, Some(&1), Some(&(4 << 20))));
        assert!(
            times.values().all(|time| 0.0 < time.low && time.low <= time.median && time.median <= time.high)
        );
        assert!(times.values().all(|time| time.passes >= 3 && time.n >= 15), "{pair:?}");
        // Through two sockets and a bridge: a microsecond at least; and four megabytes are many packets.
        assert!(times[&8].min > 1e3 && times[&(4 << 20)].median > 4.0 * times[&8].min, "{times:?}");
        let ends = network.ends.iter().find(|row| (row.a, row.b) == pair).unwrap();
        for busy in [&ends.send_ns, &ends.receive_ns] {
            assert!(busy.as_ref().unwrap().min > 0.0, "{ends:?}");
        }
        assert!(ends.gap_ns.is_some());
    }
    let at_once: Vec<_> = network.messages.iter().filter(|row| row.at_once > 1).collect();
    assert_eq!(at_once.is_empty(), network.method.not_available.contains_key("pairs at once"));
    assert_eq!(at_once.is_empty(), nodes < 4);
    assert!(at_once.iter().all(|row| row.at_once == nodes / 2 && row.one_way_ns.is_some()));
}

#[test]
fn a_job_that_dies_leaves_whole_profiles_and_names_the_missing() {
    needs!(Capability::OpenMpi, Capability::Hosts);
    let _alone = alone();
    let network = Nodes::start(3);
    let launcher = network.launcher(&open_mpi(), 1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let job = begin(&launcher, &survey(path, &["--staggered"]));
    let file = |node: &str| folder.path().join(format!("{node}.json"));
    let (child, rank) = until("node2's survey", || surveying(&file("node2")));
    let first = fs::read(file("node1")).unwrap();
    signal(rank, libc::SIGKILL);
    let done = job.wait_with_output().unwrap();
    assert!(!done.status.success());
    until("its survey ends with it", || (!processes(path).contains_key(&child)).then_some(()));
    assert!(!file("node2").exists() && !file("node3").exists());
    Profile::read(&file("node1")).unwrap();
    let missing =
        manifest(folder.path()).nodes.into_iter().filter(|node| !folder.path().join(&node.file).exists());
    assert_eq!(missing.map(|node| node.host).collect::<Vec<_>>(), ["node2", "node3"]);

    let words: Vec<_> = launcher.iter().map(String::as_str).collect();
    let done = run(&words, &["survey", "-o", path, "--resume", "--staggered", "--time-limit", "100ms"]);
    assert!(done.status.success(), "{}", told(&done));
    assert!(told(&done).contains("surveying 2 nodes one after the other"), "{}", told(&done));
    assert_eq!(fs::read(file("node1")).unwrap(), first, "it was there already");
    for node in ["node2", "node3"] {
        Profile::read(&file(node)).unwrap();
    }
    assert!(!file_names(folder.path()).iter().any(|name| name.ends_with(".unfinished")));
}

#[test]
fn nodes_of_one_name_have_files_of_their_own() {
    needs!(Capability::OpenMpi, Capability::Hosts);
    let _alone = alone();
    let network = Nodes::start_called(4, "alike");
    let launcher = network.launcher(&open_mpi(), 1);
    let words: Vec<_> = launcher.iter().map(String::as_str).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let done = run(&words, &survey(path, &["--staggered"]));
    assert!(done.status.success(), "{}", told(&done));
    assert!(told(&done).contains("4 nodes are called alike: alike.json and alike-2.json"), "{}", told(&done));
    let names = ["alike-2.json", "alike-3.json", "alike-4.json", "alike.json", "manifest.json"];
    assert_eq!(file_names(folder.path()), names);
    check_messages(&manifest(folder.path()), 4);
    fs::remove_file(folder.path().join("alike.json")).unwrap();
    let done = run(&words, &["survey", "-o", path, "--resume"]);
    assert!(
        !done.status.success() && told(&done).contains("several nodes are called alike"),
        "{}",
        told(&done)
    );
}
