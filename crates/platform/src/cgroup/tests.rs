use tempfile::TempDir;

use super::*;

/// A fake root with these files.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const HYBRID: &str = "\
    31 30 0:27 / /sys/fs/cgroup/unified rw shared:5 - cgroup2 cgroup2 rw\n\
    32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:6 - cgroup cgroup rw,cpu,cpuacct\n\
    33 30 0:29 / /sys/fs/cgroup/memory rw shared:7 - cgroup cgroup rw,memory\n\
    34 30 0:30 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n";

#[test]
fn the_tightest_level_of_version_2_holds() {
    let root = tree(&[
        ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/a/b/c/cpu.max", "400000 200000\n"),
        ("sys/fs/cgroup/a/memory.max", "1000\n"),
        ("sys/fs/cgroup/a/memory.current", "700\n"),
        ("sys/fs/cgroup/a/memory.stat", "anon 100\ninactive_file 200\n"),
        ("sys/fs/cgroup/a/b/memory.max", "max\n"),
        ("sys/fs/cgroup/a/b/memory.high", "900\n"),
        ("sys/fs/cgroup/a/b/memory.current", "100\n"),
        ("sys/fs/cgroup/a/b/cpuset.cpus.effective", "0-1,4\n"),
        ("sys/fs/cgroup/a/b/c/cpuset.cpus.effective", "\n"),
    ]);
    for mounts in [UNIFIED, ""] {
        let groups = Groups::parse("0::/a/b/c\n", mounts, root.path());
        assert_eq!(groups.cpu_quota(), Some(1.5));
        assert_eq!(groups.memory_limit(), Some(900));
        assert_eq!(groups.memory_room(), Some(500), "a level with a larger limit may leave less");
        assert_eq!(groups.cpuset(), Some("0-1,4".parse().unwrap()));
    }
    let other = Groups::parse("0::/d\n", UNIFIED, root.path());
    assert_eq!((other.cpu_quota(), other.memory_room(), other.cpuset()), (None, None, None));
}

#[test]
fn controllers_of_version_1_are_found_where_they_are_mounted() {
    let files = [
        ("cpu.cfs_quota_us", "50000\n"),
        ("cpu.cfs_period_us", "100000\n"),
        ("memory.limit_in_bytes", "800\n"),
        ("memory.usage_in_bytes", "900\n"),
        ("memory.stat", "cache 1\ntotal_inactive_file 400\n"),
    ];
    for (cpu, mounts) in [
        ("sys/fs/cgroup/cpu,cpuacct", HYBRID),
        ("sys/fs/cgroup/cpu,cpuacct", ""),
        ("sys/fs/cgroup/cpu", ""),
        ("sys/fs/cgroup/cpuacct", ""),
        (
            "dev/my cpus",
            "1 2 0:1 / /dev/my\\040cpus rw - cgroup none rw,cpuacct,cpu\n\
             1 2 0:2 / /sys/fs/cgroup/memory rw - cgroup none rw,memory\n",
        ),
    ] {
        let below =
            |folder: &str, group: &str| files.map(|(name, text)| (format!("{folder}/{group}/{name}"), text));
        let all: Vec<_> = below(cpu, "c").into_iter().chain(below("sys/fs/cgroup/memory", "c/d")).collect();
        let all: Vec<_> = all.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let root = tree(&all);
        let groups =
            Groups::parse("4:cpu,cpuacct:/c/x\n3:memory:/c/d\n1:name=systemd:/c\n", mounts, root.path());
        assert_eq!(groups.cpu_quota(), Some(0.5), "{cpu}");
        assert_eq!(groups.memory_limit(), Some(800), "{cpu}");
        assert_eq!(groups.memory_room(), Some(300), "{cpu}");
        assert_eq!(Groups::parse("4:pids:/c\n", mounts, root.path()).memory_room(), None);
    }
}

#[test]
fn a_hybrid_counts_both_versions() {
    let root = tree(&[
        ("sys/fs/cgroup/unified/u/cpu.max", "300000 100000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/memory/m/memory.usage_in_bytes", "5000\n"),
        ("sys/fs/cgroup/memory/m/memory.stat", "hierarchical_memory_limit 7000\n"),
    ]);
    for mounts in [HYBRID, ""] {
        let groups = Groups::parse("4:cpu,cpuacct:/c\n3:memory:/m\n0::/u\n", mounts, root.path());
        assert_eq!(groups.cpu_quota(), Some(3.0));
        assert_eq!(groups.memory_room(), Some(2000), "a limit that the mount does not show holds");
    }
}

#[test]
fn a_container_sees_its_own_group_as_the_root() {
    let root = tree(&[
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu/in/cpu.cfs_quota_us", "100000\n"),
        ("sys/fs/cgroup/cpu/in/cpu.cfs_period_us", "100000\n"),
    ]);
    let mounts = "9 8 0:1 /docker/f00 /sys/fs/cgroup/cpu ro master:3 - cgroup cgroup rw,cpu\n";
    for (group, quota) in
        [("/docker/f00", 2.0), ("/docker/f00/in", 1.0), ("/docker/f0", 2.0), ("/../other", 2.0)]
    {
        let groups = Groups::parse(&format!("4:cpu:{group}\n"), mounts, root.path());
        assert_eq!(groups.cpu_quota(), Some(quota), "{group}");
    }
}

#[test]
fn what_is_malformed_is_no_limit() {
    for text in
        ["", "max", "max 100000", "100000 0", "0 0", "-5 100000", "nan 1", "1 2 3 x", "1e999 1", "a b", "5 b"]
    {
        let root = tree(&[("sys/fs/cgroup/a/cpu.max", text), ("sys/fs/cgroup/a/memory.max", text)]);
        let groups = Groups::parse("0::/a\n", UNIFIED, root.path());
        let quota = groups.cpu_quota();
        assert!(quota.is_none_or(|cpus| text == "1 2 3 x" && cpus == 0.5), "{text}: {quota:?}");
        assert_eq!(groups.memory_room(), None, "{text}");
    }
    let root = tree(&[("sys/fs/cgroup/cpu.max", "100000")]);
    assert_eq!(Groups::parse("0::/\n", UNIFIED, root.path()).cpu_quota(), Some(1.0), "the usual period");
    for groups in ["nonsense", "0:", "0::relative", ":::", "0::", "\0"] {
        assert_eq!(Groups::parse(groups, "1 2 3\n - cgroup2\n", root.path()).cpu_quota(), None, "{groups}");
    }
}

#[test]
fn this_process_has_room() {
    let groups = Groups::of_process();
    assert!(groups.cpu_quota().is_none_or(|cpus| cpus > 0.0));
    assert!(groups.memory_limit().is_none_or(|bytes| bytes > 0));
    assert!(groups.memory_room() <= groups.memory_limit());
}
