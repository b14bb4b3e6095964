//! No text of a source brings control characters to a terminal.

use coho_topology::cpuid::{self, CpuAnswers, Dump, Registers};
use coho_topology::{Topology, hwloc, load_text, sysfs, tree};

fn assert_plain(topology: &Topology, brand: &str) {
    assert_eq!(topology.cpu.brand.as_deref(), Some(brand));
    let printed = tree::render(topology, 80);
    assert!(printed.contains(brand), "{printed}");
    assert!(!printed.contains(|letter: char| letter.is_control() && letter != '\n'), "{printed:?}");
}

#[test]
fn escapes_in_the_strings_of_cpuid() {
    let mut cpu = CpuAnswers::new(0);
    let vendor = |text: &[u8; 12]| {
        let [a, b, c] = [0, 4, 8].map(|at| u32::from_le_bytes(text[at..at + 4].try_into().unwrap()));
        (a, b, c)
    };
    let (ebx, edx, ecx) = vendor(b"Evil\x1b]0;xy\x07z");
    cpu.leaves.insert((0, 0), Registers { eax: 1, ebx, ecx, edx });
    cpu.leaves.insert((1, 0), Registers { ecx: 1 << 31, ..Registers::default() });
    let (ebx, ecx, edx) = vendor(b"\x1b[2J\x1b[2J\x1b[2J");
    cpu.leaves.insert((0x4000_0000, 0), Registers { eax: 0, ebx, ecx, edx });
    cpu.leaves.insert((0x8000_0000, 0), Registers { eax: 0x8000_0004, ..Registers::default() });
    let mut brand = [0; 48];
    brand[..17].copy_from_slice(b"Fast\x1b[31mRed\x07 CPU");
    for (leaf, bytes) in (0x8000_0002..).zip(brand.chunks(16)) {
        let words: Vec<u32> =
            bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        cpu.leaves.insert((leaf, 0), Registers::new(words.try_into().unwrap()));
    }
    let topology = cpuid::decode(&Dump { cpus: vec![cpu] }).unwrap();
    assert_plain(&topology, "Fast[31mRed CPU");
    assert_eq!(topology.cpu.vendor.as_deref(), Some("Evil]0;xyz"));
    assert_eq!(topology.cpu.hypervisor.as_deref(), Some("[2J[2J[2J"));
}

const XML: &str = r#"<topology version="2.0"><object type="Machine" cpuset="0x3">
    <object type="Package" cpuset="0x3"><info name="CPUVendor" value="&#27;&#7;"/>
    <info name="CPUModel" value="A&#27;[31mB&#155;5m"/>
    <object type="PU" os_index="0" cpuset="0x1"/><object type="PU" os_index="1" cpuset="0x2"/></object></object>
    <cpukind cpuset="0x1"><info name="CoreType" value="Big&#27;[1m"/></cpukind>
    <cpukind cpuset="0x2"><info name="CoreType" value="Little"/></cpukind></topology>"#;

#[test]
fn escapes_in_hwloc_xml() {
    let topology = hwloc::parse(XML).unwrap();
    assert_plain(&topology, "A[31mB5m");
    assert_eq!(topology.cpu.vendor, None);
    assert_eq!(topology.kinds[0].name, "Big[1m");
    assert_eq!(hwloc::parse(&hwloc::write(&topology)).unwrap().cpu, topology.cpu);
}

#[test]
fn escapes_in_cpuinfo() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sys/devices/system/cpu")).unwrap();
    std::fs::create_dir(dir.path().join("proc")).unwrap();
    std::fs::write(dir.path().join("sys/devices/system/cpu/online"), "0\n").unwrap();
    std::fs::write(dir.path().join("proc/cpuinfo"), "model name\t: A\x1b[31mB\n").unwrap();
    assert_plain(&sysfs::read(dir.path()).unwrap(), "A[31mB");
}

#[cfg(feature = "serde")]
#[test]
fn escapes_in_json() {
    let mut topology = hwloc::parse(XML).unwrap();
    topology.cpu.brand = Some("A\x1b[31mB".to_owned());
    topology.facts[0].by = "\x1b[2J".to_owned();
    topology.kinds[0].name = "\u{9b}31mBig".to_owned();
    let read = load_text(&serde_json::to_string(&topology).unwrap()).unwrap().topology;
    assert_plain(&read, "A[31mB");
    assert_eq!((read.facts[0].by.as_str(), read.kinds[0].name.as_str()), ("[2J", "31mBig"));
}

#[test]
fn escapes_that_an_error_quotes() {
    let error = load_text("<topology\x1b[31m version=\"2.0\"></topology\x1b[31m>").unwrap_err().to_string();
    assert!(error.contains("[31m") && !error.contains('\x1b'), "{error:?}");
}
