//! Memory of types other than write-back, from the providers available here, and whether it really is of that type.
//!
//! Each provider is asked in turn, those that need least first. Memory that a provider gives is tested ([`self_test`]);
//! a provider that has none says why. Devices' memory is written only if the user names it.

mod borrowed;
mod cuda;
mod dev_mem;
mod drm;
mod ioctl;
mod module;
mod pat;
mod pci;
pub mod self_test;
mod vgem;

use std::path::PathBuf;

use coho_profile::{CacheType, MemoryType};

use self::self_test::{Behaviour, Verdict};
use super::Region;
use crate::Error;

pub use dev_mem::Physical;
pub use module::CacheFlusher;

/// Something that may provide memory of some types.
trait Provider {
    /// Its name, as in `vgem`.
    fn name(&self) -> String;

    /// The types that it can provide.
    fn types(&self) -> &'static [CacheType];

    /// Memory of one of its types, of `bytes` or less if there is less; or why there is none.
    fn give(&self, places: &Places, cache_type: CacheType, bytes: usize) -> Result<Region, String>;

    /// The type that the kernel's own list gives for it, while it is mapped.
    fn kernel_says(&self, _places: &Places) -> Option<String> {
        None
    }
}

/// Where the kernel shows its devices.
struct Places {
    sys: PathBuf,
    dev: PathBuf,
    proc: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        Self { sys: "/sys".into(), dev: "/dev".into(), proc: "/proc".into() }
    }
}

impl Places {
    fn debugfs(&self) -> PathBuf {
        self.sys.join("kernel/debug")
    }
}

/// What the providers are asked for.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// Bytes of each region.
    pub bytes: usize,
    /// NUMA node, if a provider can choose it.
    pub node: Option<u32>,
    /// Files of PCI devices' memory, as in `/sys/bus/pci/devices/0000:01:00.0/resource2_wc`. It is written; its
    /// contents are restored.
    pub pci_bars: Vec<PathBuf>,
    /// Physical addresses, likewise.
    pub physical: Vec<Physical>,
}

/// One type from one provider: its description, and the memory if there is any.
#[derive(Debug)]
pub struct Offer {
    /// The row of the profile's section.
    pub row: MemoryType,
    /// The memory; it is given back when this is dropped.
    pub region: Option<Region>,
}

/// Asks every provider for every type that it has.
///
/// ```
/// use coho_probe::memory::provider::{self, Wish};
/// let offers = provider::offers(&Wish { bytes: 1 << 20, ..Wish::default() })?;
/// assert!(offers[0].row.available && offers[0].row.name.name() == "WB");
/// assert!(offers.iter().all(|offer| offer.row.available == offer.region.is_some()));
/// # Ok::<(), coho_probe::Error>(())
/// ```
///
/// # Errors
/// If there is no usual memory to compare with.
pub fn offers(wish: &Wish) -> Result<Vec<Offer>, Error> {
    offers_at(&Places::default(), wish)
}

fn offers_at(places: &Places, wish: &Wish) -> Result<Vec<Offer>, Error> {
    let usual = Region::write_back(wish.bytes.max(self_test::BYTES))?;
    usual.touch();
    let mut offers = Vec::new();
    for provider in providers(wish) {
        for &cache_type in provider.types() {
            offers.push(offer(places, &*provider, cache_type, wish, &usual));
        }
    }
    let row = MemoryType {
        name: CacheType::WriteBack,
        provider: "anonymous mapping".into(),
        available: true,
        proven: true,
        why: "usual memory: what the others are compared with".into(),
    };
    offers.insert(0, Offer { row, region: Some(usual) });
    Ok(offers)
}

fn providers(wish: &Wish) -> Vec<Box<dyn Provider>> {
    let mut providers: Vec<Box<dyn Provider>> = vec![Box::new(vgem::Vgem), Box::new(cuda::CudaHost)];
    for file in named(&wish.pci_bars) {
        providers.push(Box::new(pci::PciBar { file }));
    }
    for addresses in named(&wish.physical) {
        providers.push(Box::new(dev_mem::DevMem { addresses }));
    }
    providers.push(Box::new(module::Module { node: wish.node }));
    providers
}

/// Each that was named; `None` once if none was, so that the list says that they exist.
fn named<T: Clone>(all: &[T]) -> Vec<Option<T>> {
    if all.is_empty() { vec![None] } else { all.iter().cloned().map(Some).collect() }
}

fn offer(
    places: &Places,
    provider: &dyn Provider,
    cache_type: CacheType,
    wish: &Wish,
    usual: &Region,
) -> Offer {
    let row = MemoryType { name: cache_type, provider: provider.name(), ..MemoryType::default() };
    let region = match provider.give(places, cache_type, wish.bytes.max(self_test::BYTES)) {
        Ok(region) if region.bytes() < self_test::BYTES => {
            let why = format!("{} bytes are too few, the test needs {}", region.bytes(), self_test::BYTES);
            return Offer { row: MemoryType { why, ..row }, region: None };
        }
        Ok(region) => region,
        Err(why) => return Offer { row: MemoryType { why, ..row }, region: None },
    };
    region.touch();
    let seen = Behaviour::of(&region, usual);
    let mut why = seen.tell(cache_type);
    if let Some(name) = provider.kernel_says(places) {
        why += &format!("; the kernel's list of memory types says {name}");
    }
    let proven = seen.verdict(cache_type) == Verdict::Proven;
    Offer { row: MemoryType { available: true, proven, why, ..row }, region: Some(region) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> (tempfile::TempDir, Places) {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let places = Places { sys: place("sys"), dev: place("dev"), proc: place("proc") };
        (folder, places)
    }

    #[test]
    fn a_machine_without_devices_has_write_back_and_a_reason_for_each_other() {
        let (_folder, places) = empty();
        let offers = offers_at(&places, &Wish::default()).unwrap();
        let rows: Vec<_> = offers.iter().map(|offer| (&*offer.row.provider, offer.row.name.name())).collect();
        assert_eq!(rows[0], ("anonymous mapping", "WB"));
        for expected in [("vgem", "WC"), ("PCI", "WC"), ("/dev/mem", "UC"), ("coho_mem", "WC")] {
            assert!(rows.contains(&expected), "{expected:?} of {rows:?}");
        }
        for offer in &offers {
            assert_eq!(offer.row.available, offer.region.is_some());
            assert!(!offer.row.why.is_empty() && (offer.row.available || !offer.row.proven));
        }
    }

    #[test]
    fn what_behaves_as_usual_memory_is_handed_out_but_not_proven() {
        let (folder, places) = empty();
        // A device whose memory is really a file: cached, whatever it claims to be.
        let device = folder.path().join("0000:01:00.0");
        std::fs::create_dir(&device).unwrap();
        std::fs::write(device.join("resource"), "0x00000000fd000000 0x00000000fd00ffff 0x0000000000042208\n")
            .unwrap();
        std::fs::write(device.join("enable"), "1\n").unwrap();
        let debug = places.debugfs().join("x86");
        std::fs::create_dir_all(&debug).unwrap();
        std::fs::write(debug.join("pat_memtype_list"), "PAT: [mem 0xfd000000-0xfd010000] write-combining\n")
            .unwrap();
        let file = device.join("resource0_wc");
        std::fs::write(&file, vec![1; 65536]).unwrap();
        let wish = Wish { bytes: 1 << 20, pci_bars: vec![file], ..Wish::default() };
        let offers = offers_at(&places, &wish).unwrap();
        let pci = offers.into_iter().find(|offer| offer.row.provider.starts_with("PCI")).unwrap();
        assert!(pci.row.available && !pci.row.proven, "{:?}", pci.row);
        assert!(pci.row.why.starts_with("not verifiable"), "{}", pci.row.why);
        assert!(pci.row.why.ends_with("the kernel's list of memory types says write-combining"));
        assert_eq!(pci.region.as_ref().unwrap().bytes(), 65536);
    }
}
