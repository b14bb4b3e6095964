//! Machines for which there is no dump: counts that are not powers of two, kinds of cores, contradictions.

use coho_topology::cpuid::{self, CpuAnswers, Dump, Registers};
use coho_topology::{Level, Source, Topology};

use crate::cpuid_support;

const AMD: [u32; 3] = [0x6874_7541, 0x444D_4163, 0x6974_6E65];
const INTEL: [u32; 3] = [0x756E_6547, 0x6C65_746E, 0x4965_6E69];

fn cpu(os: u32, [ebx, ecx, edx]: [u32; 3], last: u32, answers: &[(u32, u32, [u32; 4])]) -> CpuAnswers {
    let mut cpu = CpuAnswers::new(os);
    cpu.leaves.insert((0, 0), Registers { eax: last, ebx, ecx, edx });
    for &(leaf, subleaf, registers) in answers {
        cpu.leaves.insert((leaf, subleaf), Registers::new(registers));
    }
    cpu
}

fn decode(cpus: Vec<CpuAnswers>) -> Topology {
    let topology = cpuid::decode(&Dump { cpus }).unwrap();
    cpuid_support::assert_consistent(&topology);
    topology
}

fn error(cpus: Vec<CpuAnswers>) -> String {
    cpuid::decode(&Dump { cpus }).unwrap_err().to_string()
}

/// EAX of a cache leaf: type, level, CPUs that share it.
fn cache(kind: u32, level: u32, shared_by: u32) -> u32 {
    (shared_by - 1) << 14 | level << 5 | kind
}

/// A family 19h machine. APIC ids leave the gaps that fused-off cores leave: each complex begins at a multiple of a
/// power of two.
fn zen3(packages: u32, complexes: u32, cores: u32, threads: u32) -> Vec<CpuAnswers> {
    let per_complex = cores * threads;
    let complex_ids = per_complex.next_power_of_two();
    let package_bits = (complexes * complex_ids).next_power_of_two().trailing_zeros();
    let mut cpus = Vec::new();
    for package in 0..packages {
        for complex in 0..complexes {
            for thread in 0..per_complex {
                let apic_id = package << package_bits | (complex * complex_ids + thread);
                let caches = [(1, 1, threads), (2, 1, threads), (3, 2, threads), (3, 3, per_complex)];
                let mut answers = vec![
                    (1, 0, [0x00A0_0F11, apic_id << 24, 0, 1 << 28]),
                    (0x8000_0000, 0, [0x8000_001E, 0, 0, 0]),
                    (0x8000_0001, 0, [0x00A0_0F11, 0, 1 << 22, 0]),
                    (0x8000_0008, 0, [0, 0, package_bits << 12, 0]),
                    (0x8000_001E, 0, [apic_id, (threads - 1) << 8, package, 0]),
                ];
                for (index, (kind, level, shared_by)) in caches.into_iter().enumerate() {
                    let eax = cache(kind, level, shared_by);
                    answers.push((0x8000_001D, index as u32, [eax, 0x01C0_003F, 0x3F, 0]));
                }
                cpus.push(cpu(cpus.len() as u32, AMD, 0x10, &answers));
            }
        }
    }
    cpus
}

#[test]
fn a_complex_of_any_size_is_one_level_3() {
    for cores in 1..=32 {
        for threads in [1, 2] {
            let topology = decode(zen3(2, 3, cores, threads));
            let counts = topology.counts();
            assert_eq!((counts.package, counts.numa, counts.l3), (2, 2, 6), "{cores} cores of {threads}");
            assert_eq!(counts.core as u32, 6 * cores, "{cores} cores of {threads}");
            assert_eq!(counts.l2, counts.core, "{cores} cores of {threads}");
            let complete =
                topology.partition(Level::L3).iter().all(|set| set.len() as u32 == cores * threads);
            assert!(complete, "{cores} cores of {threads}: {:?}", topology.partition(Level::L3));
        }
    }
}

/// Leaf 0x80000026: (type, shift) from the innermost, and the core type.
fn amd_levels(apic_id: u32, levels: &[(u32, u32)], core_type: u32) -> Vec<(u32, u32, [u32; 4])> {
    let answer = |(index, &(kind, shift)): (usize, &(u32, u32))| {
        let index = index as u32;
        (0x8000_0026, index, [shift, core_type << 28 | 1, kind << 8 | index, apic_id])
    };
    let end = (0x8000_0026, levels.len() as u32, [0, 0, 0, apic_id]);
    levels.iter().enumerate().map(answer).chain([end]).collect()
}

/// As Strix Point: 4 performance and 8 efficient cores of 2 threads in a complex each, one die.
#[test]
fn two_kinds_of_amd_cores_in_two_complexes() {
    let apic_ids = (0..8).chain(16..32);
    let machine = apic_ids.enumerate().map(|(os, apic_id)| {
        let efficient = apic_id >= 16;
        let mut answers = amd_levels(apic_id, &[(1, 1), (2, 4), (3, 5), (4, 5)], u32::from(efficient));
        answers.extend([
            (1, 0, [0x00B2_0F40, apic_id << 24, 0, 1 << 28]),
            (0x8000_0000, 0, [0x8000_0028, 0, 0, 0]),
            (0x8000_0001, 0, [0x00B2_0F40, 0, 1 << 22, 0]),
            (0x8000_001E, 0, [apic_id, 0x100, 0, 0]),
            (0x8000_001D, 0, [cache(1, 1, 2), 0x01C0_003F, 0x3F, 0]),
            (0x8000_001D, 1, [cache(3, 3, if efficient { 16 } else { 8 }), 0x03C0_003F, 0x1FFF, 0]),
        ]);
        cpu(os as u32, AMD, 0x10, &answers)
    });
    let topology = decode(machine.collect());
    let counts = topology.counts();
    assert_eq!((counts.package, counts.die, counts.l3, counts.core, counts.pu), (1, 0, 2, 12, 24));
    let kinds: Vec<_> =
        topology.kinds.iter().map(|kind| (kind.name.as_str(), kind.cpus.to_string())).collect();
    assert_eq!(kinds, [("AmdPerformance", "0-7".to_string()), ("AmdEfficiency", "8-23".to_string())]);
}

/// As a Genoa of two packages: dies where the leaf names several in a package.
#[test]
fn core_complex_dies_are_dies() {
    let machine = (0..64).map(|os| {
        let mut answers = amd_levels(os, &[(1, 1), (2, 3), (3, 3), (4, 5)], 0);
        answers.extend([(1, 0, [0x00A1_0F11, 0, 0, 0]), (0x8000_0000, 0, [0x8000_0026, 0, 0, 0])]);
        cpu(os, AMD, 0x10, &answers)
    });
    let counts = decode(machine.collect()).counts();
    assert_eq!((counts.package, counts.die, counts.core), (2, 8, 32));
}

/// As Magny-Cours of 12 cores: the halves of each package have a level 3 each, at APIC ids 0 to 5 and 6 to 11.
#[test]
fn the_two_nodes_of_a_family_10h_package_split_its_level_3() {
    let machine = (0..24).map(|os| {
        let apic_id = os / 12 * 16 + os % 12;
        let answers = [
            (1, 0, [0x0010_0F91, apic_id << 24 | 12 << 16, 0, 1 << 28]),
            (0x8000_0000, 0, [0x8000_001B, 0, 0, 0]),
            (0x8000_0001, 0, [0x0010_0F91, 3 << 28, 2, 0]),
            (0x8000_0005, 0, [0, 0, 0x4002_0140, 0x4002_0140]),
            (0x8000_0006, 0, [0, 0, 0x0200_8140, 24 << 18 | 0xD140]),
            (0x8000_0008, 0, [0, 0, 0x400B, 0]),
        ];
        cpu(os, AMD, 5, &answers)
    });
    let topology = decode(machine.collect());
    let sets: Vec<_> = topology.partition(Level::L3).iter().map(ToString::to_string).collect();
    assert_eq!(sets, ["0-5", "6-11", "12-17", "18-23"]);
    let l3 = topology.caches.iter().find(|cache| cache.level == 3).unwrap();
    assert_eq!((l3.size_bytes, l3.ways), (6 << 20, Some(48)));
}

fn xeon(os: u32, apic_id: u32, more: &[(u32, u32, [u32; 4])]) -> CpuAnswers {
    let mut answers = vec![(1, 0, [0x0005_0654, (apic_id & 0xFF) << 24 | 16 << 16, 0, 1 << 28])];
    answers.extend_from_slice(more);
    cpu(os, INTEL, 0x1F, &answers)
}

/// Leaf 0xB or 0x1F with these (type, shift).
fn intel_levels(leaf: u32, apic_id: u32, levels: &[(u32, u32)]) -> Vec<(u32, u32, [u32; 4])> {
    let answer = |(index, &(kind, shift)): (usize, &(u32, u32))| {
        (leaf, index as u32, [shift, 1, kind << 8 | index as u32, apic_id])
    };
    levels.iter().enumerate().map(answer).collect()
}

#[test]
fn modules_and_dies_of_leaf_1f() {
    // 2 threads, 2 cores a module, 2 modules a die, 2 dies a package, 2 packages; ids beyond a byte.
    let machine = (0..32).map(|os| {
        let apic_id = 0x300 + os;
        xeon(os, apic_id, &intel_levels(0x1F, apic_id, &[(1, 1), (2, 2), (3, 3), (5, 4)]))
    });
    let topology = decode(machine.collect());
    let counts = topology.counts();
    assert_eq!((counts.package, counts.die, counts.module, counts.core), (2, 4, 8, 16));
    assert_eq!(topology.pus[0].apic_id, Some(0x300));
    assert_eq!(topology.pus[31].name, "P1.C7.T1");
}

/// libcpuid's dumps hold only the first sub-leaf of 0x1F, which without the others would make every core a package.
#[test]
fn a_truncated_leaf_1f_gives_way_to_leaf_b() {
    let machine = (0..8).map(|os| {
        let mut levels = intel_levels(0x1F, os, &[(1, 1)]);
        levels.extend(intel_levels(0xB, os, &[(1, 1), (2, 4)]));
        xeon(os, os, &levels)
    });
    let counts = decode(machine.collect()).counts();
    assert_eq!((counts.package, counts.core), (1, 4));
}

#[test]
fn without_topology_leaves_the_counts_of_leaves_1_and_4_tell() {
    // Room for 16 threads and 8 cores in a package: threads in bit 0, packages from bit 4.
    let caches = |shared_by| [cache(1, 1, shared_by) | 7 << 26, 0x01C0_003F, 0x3F, 0];
    let machine = (0..8).map(|os| {
        let apic_id = os / 4 * 16 + os % 4;
        xeon(os, apic_id, &[(4, 0, caches(2)), (4, 1, [cache(3, 3, 16), 0x03C0_003F, 0xFFF, 0])])
    });
    let counts = decode(machine.collect()).counts();
    assert_eq!((counts.package, counts.core, counts.l3), (2, 4, 2));
}

/// Hypervisors pass the host's sharing counts to guests whose packages are smaller.
#[test]
fn a_cache_wider_than_its_package_is_cut_and_noted() {
    let machine = (0..4).map(|os| {
        let mut answers = intel_levels(0xB, os, &[(1, 0), (2, 0)]);
        answers.push((4, 0, [cache(3, 3, 64), 0x03C0_003F, 0xFFF, 0]));
        xeon(os, os, &answers)
    });
    let topology = decode(machine.collect());
    assert_eq!((topology.counts().package, topology.counts().l3), (4, 4));
    let fact = topology.facts.iter().find(|fact| fact.level == Level::L3).unwrap();
    assert!(fact.by.contains("cut at the package"), "{}", fact.by);
}

#[test]
fn one_memory_node_is_assumed_and_said_to_be() {
    let topology = decode(vec![xeon(0, 0, &[])]);
    assert_eq!(topology.numa_nodes.len(), 1);
    let fact = topology.facts.iter().find(|fact| fact.level == Level::Numa).unwrap();
    assert_eq!(fact.source, Source::Assumed);
}

#[test]
fn contradictions_are_errors_that_name_the_cpus() {
    let message = error(vec![xeon(0, 0, &[]), cpu(7, AMD, 1, &[])]);
    assert!(message.contains("CPUs 0 and 7 are of different vendors"), "{message}");
    let message = error(vec![xeon(0, 5, &[]), xeon(3, 5, &[])]);
    assert!(message.contains("CPUs 0 and 3 both claim APIC id 0x5"), "{message}");
    let message = error(vec![xeon(2, 0, &[]), xeon(2, 1, &[])]);
    assert!(message.contains("CPU 2 occurs twice"), "{message}");
    let message = error(vec![xeon(0, 0, &[]), CpuAnswers::new(1)]);
    assert!(message.contains("CPU 1: no vendor"), "{message}");
    let message = error(vec![xeon(1 << 16, 0, &[])]);
    assert!(message.contains("beyond"), "{message}");
    let message = error((0..10_000).map(|os| xeon(os, os, &[])).collect());
    assert!(message.contains("10000 CPUs are more than"), "{message}");
    assert!(error(Vec::new()).contains("no CPU"));
}

/// In the order of EBX, ECX, EDX.
const VIA: [u32; 3] = [0x746E_6543, 0x736C_7561, 0x4872_7561];

/// Size in KiB and ways of the second and third level, by leaf 0x80000006.
fn outer_caches(vendor: [u32; 3], signature: u32, ecx: u32, edx: u32) -> Vec<(u8, u64, Option<u32>)> {
    let answers = [
        (1, 0, [signature, 0, 0, 0]),
        (0x8000_0000, 0, [0x8000_0006, 0, 0, 0]),
        (0x8000_0006, 0, [0, 0, ecx, edx]),
    ];
    let topology = decode(vec![cpu(0, vendor, 1, &answers)]);
    topology.caches.iter().map(|cache| (cache.level, cache.size_bytes >> 10, cache.ways)).collect()
}

#[test]
fn reserved_bits_are_no_cache() {
    // C3 Samuel 2 and Ezra pack size and ways into a byte each; a Nehemiah does as AMD.
    for signature in [0x673, 0x687] {
        assert_eq!(outer_caches(VIA, signature, 0x4004_0120, 0), [(2, 64, Some(4))]);
    }
    assert_eq!(outer_caches(VIA, 0x695, 0x0040_8120, 0), [(2, 64, Some(16))]);
    assert_eq!(outer_caches(VIA, 0x691, 0x0041_8120, 0), [(2, 64, Some(16))]);
    // Only AMD defines the field for a third level.
    let l3 = 8 << 18 | 0xB << 12 | 64;
    assert_eq!(outer_caches(VIA, 0x695, 0x0040_8120, l3), [(2, 64, Some(16))]);
    assert_eq!(outer_caches(INTEL, 0x0001_0677, 0x0C00_6040, l3), [(2, 3072, Some(8))]);
    assert_eq!(outer_caches(AMD, 0x0010_0F42, 0x0200_8140, l3), [(2, 512, Some(16)), (3, 4096, Some(48))]);
    // A disabled cache keeps its size; early Durons name a wrong one.
    assert_eq!(outer_caches(AMD, 0x0010_0F42, 0x0200_0140, l3 & !0xF000), []);
    assert_eq!(outer_caches(AMD, 0x630, 0x0001_4120, 0), [(2, 64, Some(4))]);
}

#[test]
fn descriptors_are_read_as_their_vendor_defines_them() {
    const CYRIX: [u32; 3] = [0x6972_7943, 0x6461_6574, 0x736E_4978];
    let first = |vendor| {
        let topology = decode(vec![cpu(0, vendor, 2, &[(2, 0, [0x1, 0, 0, 0x80])])]);
        topology.caches.first().map(|cache| (cache.level, cache.size_bytes >> 10))
    };
    assert_eq!([first(INTEL), first(CYRIX), first(VIA)], [Some((2, 512)), Some((1, 16)), None]);
}

#[test]
fn one_cpu_of_several_is_noted() {
    let alone =
        |vendor, last, answers: &[(u32, u32, [u32; 4])]| decode(vec![cpu(0, vendor, last, answers)]).notes;
    const SEVERAL: u32 = 1 << 28;
    let by_leaf_b: &[(u32, u32, [u32; 4])] = &[(0xB, 0, [1, 2, 0x100, 0]), (0xB, 1, [5, 20, 0x201, 0])];
    assert!(alone(INTEL, 0xB, by_leaf_b)[0].contains("20 CPUs was recorded"));
    let notes = alone(INTEL, 4, &[(1, 0, [0x10676, 4 << 16, 0, SEVERAL])]);
    assert!(notes[0].contains("room for 4"), "{notes:?}");
    let extended = (0x8000_0000, 0, [0x8000_0008, 0, 0, 0]);
    let notes = alone(AMD, 1, &[extended, (0x8000_0008, 0, [0, 0, 5, 0])]);
    assert!(notes[0].contains("room for 6"), "{notes:?}");
    // One CPU that says that it is alone, and two of a package of four.
    let first_level = |cores: u32| (4, 0, [(cores - 1) << 26 | 0x121, 0x01C0_003F, 0x3F, 0]);
    let one = [(1, 0, [0x10676, 1 << 16, 0, SEVERAL]), first_level(1)];
    assert_eq!(alone(INTEL, 4, &one), Vec::<String>::new());
    let pair = [0, 1]
        .map(|os| cpu(os, INTEL, 4, &[(1, 0, [0x10676, os << 24 | 4 << 16, 0, SEVERAL]), first_level(4)]));
    assert_eq!(decode(pair.into()).notes, Vec::<String>::new());
    // Without leaf 4, the cores of a CPU that has the leaf are not known.
    let notes = alone(INTEL, 4, &one[..1]);
    assert!(notes[0].contains("were not recorded"), "{notes:?}");
}
