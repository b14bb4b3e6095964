//! Sysfs and CPUID of one machine, where a cpuset lets CPUID be asked of some CPUs only.

use coho_topology::cpuid::{self, CpuAnswers, Dump, Registers};
use coho_topology::{Level, Topology, reconcile, sysfs};

use crate::sysfs_support::{Machine, Tree};

const AMD: [u32; 3] = [0x6874_7541, 0x444D_4163, 0x6974_6E65];
const INTEL: [u32; 3] = [0x756E_6547, 0x6C65_746E, 0x4965_6E69];

fn cpu(os: u32, [ebx, ecx, edx]: [u32; 3], answers: &[(u32, u32, [u32; 4])]) -> CpuAnswers {
    let mut cpu = CpuAnswers::new(os);
    cpu.leaves.insert((0, 0), Registers { eax: 0x1F, ebx, ecx, edx });
    for &(leaf, subleaf, registers) in answers {
        cpu.leaves.insert((leaf, subleaf), Registers::new(registers));
    }
    cpu
}

/// EAX of a cache leaf: type, level, CPUs that share it.
fn cache(kind: u32, level: u32, shared_by: u32) -> u32 {
    (shared_by - 1) << 14 | level << 5 | kind
}

fn reconciled(tree: &Tree, cpus: &[u32], answers: fn(u32) -> CpuAnswers) -> Topology {
    let dump = Dump { cpus: cpus.iter().copied().map(answers).collect() };
    reconcile(sysfs::read(tree.path()).unwrap(), &cpuid::decode(&dump).unwrap())
}

fn sets(topology: &Topology, level: Level) -> Vec<String> {
    topology.partition(level).iter().map(ToString::to_string).collect()
}

/// Four integer clusters in the modules 0,2 and 1,3.
fn family_15h(os: u32) -> CpuAnswers {
    let (unit, apic_id) = (os % 2, os % 2 * 2 + os / 2);
    let answers = [
        (1, 0, [0x0060_0F12, apic_id << 24 | 4 << 16, 0, 1 << 28]),
        (0x8000_0000, 0, [0x8000_001E, 0, 0, 0]),
        (0x8000_0001, 0, [0x0060_0F12, 0, 1 << 22, 0]),
        (0x8000_0008, 0, [0, 0, 2 << 12 | 3, 0]),
        (0x8000_001D, 0, [cache(3, 2, 2), 0x03C0_003F, 0x7FF, 0]),
        (0x8000_001D, 1, [cache(3, 3, 4), 0x0FC0_003F, 0x7FF, 0]),
        (0x8000_001E, 0, [apic_id, 1 << 8 | unit, 0, 0]),
    ];
    cpu(os, AMD, &answers)
}

#[test]
fn on_family_15h_a_cpuset_hides_no_core_or_module() {
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 2 }.build();
    tree.write_root("proc/cpuinfo", "vendor_id\t: AuthenticAMD\ncpu family\t: 21\n");
    for cpu in 0..4 {
        tree.remove(&format!("cpu/cpu{cpu}/cache/index3"));
    }
    let whole = reconciled(&tree, &[0, 1, 2, 3], family_15h);
    assert_eq!(sets(&whole, Level::Module), ["0,2", "1,3"]);
    assert_eq!(sets(&whole, Level::L3), ["0-3"]);
    for allowed in [&[0][..], &[0, 2], &[0, 1], &[1, 2, 3]] {
        let part = reconciled(&tree, allowed, family_15h);
        for level in [Level::Package, Level::Core, Level::Module, Level::L2, Level::L1, Level::Numa] {
            assert_eq!(sets(&part, level), sets(&whole, level), "{level} under {allowed:?}");
        }
        assert_eq!(part.counts().l3, 0, "an L3 of {allowed:?} alone is none of the machine's");
        assert_eq!(part.disagreements, [], "{allowed:?}");
    }
}

/// Two cores of type Core (CPUs 0 and 1), then a module of two Atoms.
fn hybrid(os: u32) -> CpuAnswers {
    let (apic_id, core_type) = if os < 2 { (os * 4, 0x40) } else { (8 + os - 2, 0x20) };
    let answers = [
        (1, 0, [0x0009_0672, apic_id << 24 | 16 << 16, 0, 1 << 28]),
        (7, 0, [0, 0, 0, 1 << 15]),
        (0x1A, 0, [core_type << 24, 0, 0, 0]),
        (0x1F, 0, [0, 1, 1 << 8, apic_id]),
        (0x1F, 1, [2, 1, 2 << 8 | 1, apic_id]),
        (0x1F, 2, [4, 1, 3 << 8 | 2, apic_id]),
    ];
    cpu(os, INTEL, &answers)
}

#[test]
fn on_a_hybrid_a_cpuset_hides_no_kind_or_module() {
    let tree = Machine { packages: 1, dies: 1, cores: 4, threads: 1 }.build();
    let whole = reconciled(&tree, &[0, 1, 2, 3], hybrid);
    assert_eq!(sets(&whole, Level::Kind), ["0-1", "2-3"]);
    assert_eq!(sets(&whole, Level::Module), ["0", "1", "2-3"]);
    assert_eq!(reconciled(&tree, &[1, 2], hybrid).kinds, [], "kinds of CPUs 1 and 2 alone");

    tree.write_root("sys/devices/cpu_core/cpus", "0-1");
    tree.write_root("sys/devices/cpu_atom/cpus", "2-3");
    let part = reconciled(&tree, &[1, 2, 3], hybrid);
    assert_eq!(sets(&part, Level::Kind), ["0-1", "2-3"]);
    assert_eq!(sets(&part, Level::Module), [""; 0]);
    assert_eq!(sets(&part, Level::Core), ["0", "1", "2", "3"]);
    assert_eq!(part.pu(1).unwrap().apic_id, Some(4));
    assert_eq!(part.pu(0).unwrap().apic_id, None);
}
