//! Paper 4: rates by instruction, memory type and size, and a cluster whose NIC sits in a memory slot.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Paper, Publication};
use crate::{
    CacheType, CoherenceCost, Estimate, Host, LinesLeft, Memory, MemoryRate, MemoryType, Method, Operation,
    Profile,
};

/// Authors, title and year.
pub const PAPER: Paper = Paper {
    name: "hamada-dimmnet",
    authors: "Hamada et al.",
    all_authors: "Y. Hamada, H. Nakajo, N. Tanabe, T. Kudoh",
    title: "Performance Estimation of a Cluster with a NIC Plugged into a Memory Slot",
    year: "about 2001",
    publication: || figures().publication(),
};

/// What the paper printed. Rates are in MB/s (10^6 bytes per second), in the order of [`Machine::sizes_bytes`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Figures {
    /// Authors and title.
    pub source: String,
    /// The machine measured.
    pub machine: Machine,
    /// Tables 2 and 3: stores.
    pub register_to_memory: Instructions<Table>,
    /// Tables 4 and 5: loads.
    pub memory_to_register: Instructions<Table>,
    /// Table 6: copies into write-back memory, by type of the source.
    pub memory_to_memory: Instructions<BTreeMap<String, Vec<f64>>>,
    /// Table 8: copies from write-back memory, read through PREFETCHNTA.
    pub memory_to_memory_prefetchnta: Instructions<Vec<f64>>,
    /// Table 7: bursts when a block is read again, by size.
    pub prefetchnta_leaves_no_line: ReadAgain,
    /// Fig. 7: time of WBINVD.
    pub wbinvd_us: Wbinvd,
    /// Constants of the transfer-time model.
    pub path: Constants,
    /// What the paper concludes.
    pub conclusions: Conclusions,
}

/// The paper's machines.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Machine {
    pub cpu: String,
    pub pci33: String,
    pub pci66: String,
    pub sizes_bytes: Vec<u64>,
}

/// One figure for plain instructions and one for SIMD ones.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Instructions<T> {
    pub plain: T,
    pub simd: T,
}

/// Rates and bus transactions by memory type: `wb`, `wb_nt` (non-temporal stores), `wc`, `uc`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Table {
    pub mb_s: BTreeMap<String, Vec<f64>>,
    /// Whole lines.
    pub bursts: BTreeMap<String, Vec<f64>>,
    /// Transactions of less than a line.
    pub partials: BTreeMap<String, Vec<f64>>,
}

/// Table 7.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct ReadAgain {
    pub after_prefetchnta: BTreeMap<String, f64>,
    pub after_plain_read: BTreeMap<String, f64>,
}

/// Time of WBINVD without any write-back, and with one for each line of the second-level cache.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Wbinvd {
    pub range: [f64; 2],
}

/// Constants of the transfer-time model (section 2.3), in ns.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Constants {
    /// Reading one uncached word over the memory bus.
    pub dimmnet_status_read: f64,
    /// One word over the PCI bus, which starts a DMA.
    pub pci_dma_start: Buses,
    /// A DMA of four words into host memory.
    pub pci_completion_dma: Buses,
    /// Reading the word that announces it.
    pub completion_word_read: f64,
    /// Rate of the NIC's DMA in the memory slot over that of the PCI bus.
    pub nic_dma_over_pci: BTreeMap<String, f64>,
    /// Smallest and largest sum of the start-up gaps.
    pub gap_range_ns: [f64; 2],
    /// What DMA from modified cached lines loses on PCI 66, up to the size of the cache.
    pub dma_writeback_loss_pci66: f64,
    /// Start-up gaps of each design when all its DMA engines count (Fig. 11).
    pub gaps: BTreeMap<String, u32>,
}

/// A figure for each PCI bus.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Buses {
    pub pci33: f64,
    pub pci66: f64,
}

/// Conclusions: the shares of Myrinet's time that DIMMnet saves.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Conclusions {
    pub wc_receive_vs_pci33: String,
    pub wc_receive_vs_pci66: String,
    pub flush_57us_vs_pci66: String,
    pub flush_720us_vs_pci66: String,
    pub prefetchnta_vs_pci66: Prefetchnta,
}

/// Fig. 10, from the smallest gain to the largest.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Prefetchnta {
    pub simd_512: [f64; 2],
    pub plain_512: [f64; 2],
    pub gap_ns: [f64; 2],
    pub all_sizes_gain: bool,
}

/// Bytes of a line and of the second-level cache, as in [`Machine::cpu`].
const LINE_BYTES: u64 = 32;
const L2_BYTES: u64 = 256 << 10;

/// The paper's figures.
///
/// ```
/// let paper = coho_profile::published::hamada_dimmnet::figures();
/// assert_eq!(paper.memory_to_memory.simd["wc"], [73.0, 74.0, 49.0]);
/// ```
///
/// # Panics
/// Never: the file is part of the program and read by a test.
pub fn figures() -> Figures {
    toml::from_str(include_str!("hamada_dimmnet.toml")).expect("the built-in figures are well formed")
}

impl Figures {
    /// The figures as a profile of the paper's machine.
    pub fn publication(&self) -> Publication {
        let host = Host { cpu: Some(self.machine.cpu.clone()), clock_ghz: Some(1.0), ..Host::default() };
        let profile = Profile { host: Some(host), memory: Some(self.memory()), ..Profile::default() };
        Publication { paper: PAPER, machines: vec![("pentium3".into(), profile)] }
    }

    fn memory(&self) -> Memory {
        let lost = "Figs. 1 and 2 have not survived; the transfer path takes reconstructed rates as inputs";
        let description = "Tables 2 to 8 and Fig. 7; copies go into write-back memory";
        let method = Method {
            description: format!("{}; {description}", self.source),
            parameters: BTreeMap::from([
                ("line_bytes".to_owned(), LINE_BYTES.into()),
                ("pci33".to_owned(), self.machine.pci33.clone().into()),
                ("pci66".to_owned(), self.machine.pci66.clone().into()),
            ]),
            not_available: BTreeMap::from([("dma".to_owned(), lost.to_owned())]),
            ..Method::default()
        };
        let memory_type = |name| MemoryType {
            name,
            provider: "published".into(),
            available: true,
            ..MemoryType::default()
        };
        Memory {
            method,
            types: CacheType::ALL.map(memory_type).into(),
            rates: self.rates(),
            coherence_cost: self.wbinvd(),
            prefetchnta: self.lines_left(),
            ..Memory::default()
        }
    }

    /// Tables 2 to 6 and 8, in their order.
    fn rates(&self) -> Vec<MemoryRate> {
        let stores = &self.register_to_memory;
        let loads = &self.memory_to_register;
        let mut rates = Vec::new();
        for (op, instruction, table) in [
            (Operation::Write, "plain", &stores.plain),
            (Operation::Write, "simd", &stores.simd),
            (Operation::Read, "plain", &loads.plain),
            (Operation::Read, "simd", &loads.simd),
        ] {
            for (kind, mb_s) in &table.mb_s {
                let counted = |counts: &BTreeMap<String, Vec<f64>>| counts.get(kind).cloned();
                let first = rates.len();
                rates.extend(self.by_size(op, instruction, kind, mb_s));
                for (index, rate) in rates[first..].iter_mut().enumerate() {
                    let estimate_of =
                        |counts: Option<Vec<f64>>| counts.map(|counts| Estimate::exact(counts[index]));
                    (rate.bursts, rate.partials) =
                        (estimate_of(counted(&table.bursts)), estimate_of(counted(&table.partials)));
                }
            }
        }
        let copies = &self.memory_to_memory;
        for (instruction, table) in [("plain", &copies.plain), ("simd", &copies.simd)] {
            for (kind, mb_s) in table {
                rates.extend(self.by_size(Operation::Copy, instruction, kind, mb_s));
            }
        }
        let prefetched = &self.memory_to_memory_prefetchnta;
        for (instruction, mb_s) in
            [("plain-prefetchnta", &prefetched.plain), ("simd-prefetchnta", &prefetched.simd)]
        {
            rates.extend(self.by_size(Operation::Copy, instruction, "wb", mb_s));
        }
        rates
    }

    /// A row for each size. The paper says nothing about the caches' state or a fence.
    fn by_size(&self, op: Operation, instruction: &str, kind: &str, mb_s: &[f64]) -> Vec<MemoryRate> {
        let (kind, non_temporal) = kind.split_once('_').map_or((kind, ""), |(kind, _)| (kind, "-nt"));
        let cache_type = CacheType::ALL
            .into_iter()
            .find(|known| known.name().eq_ignore_ascii_case(kind))
            .unwrap_or_default();
        let rate = |(&bytes, &mb_s): (&u64, &f64)| MemoryRate {
            op,
            instruction: format!("{instruction}{non_temporal}"),
            cache_type,
            bytes,
            threads: 1,
            bytes_per_s: Some(Estimate::exact(mb_s * 1e6)),
            ..MemoryRate::default()
        };
        self.machine.sizes_bytes.iter().zip(mb_s).map(rate).collect()
    }

    /// The two ends of Fig. 7. The largest time is that of an L2 full of modified lines.
    fn wbinvd(&self) -> Vec<CoherenceCost> {
        let lines = L2_BYTES / LINE_BYTES;
        let cost = |(dirty, us): (u64, f64)| CoherenceCost {
            operation: "WBINVD".into(),
            lines,
            dirty,
            ns: Some(Estimate::exact(us * 1e3)),
        };
        [0, lines].into_iter().zip(self.wbinvd_us.range).map(cost).collect()
    }

    fn lines_left(&self) -> Vec<LinesLeft> {
        let again = &self.prefetchnta_leaves_no_line;
        let left = |first: &str, bytes: &str, bursts: f64| {
            let bytes = bytes.parse().expect("the table names sizes");
            LinesLeft {
                first: first.into(),
                bytes,
                lines: bytes / LINE_BYTES,
                method: "counter".into(),
                cache: "bus".into(),
                gone: Some(Estimate::exact(bursts)),
                ns: None,
            }
        };
        let row = |first: &str, table: &BTreeMap<String, f64>| -> Vec<LinesLeft> {
            table.iter().map(|(bytes, bursts)| left(first, bytes, *bursts)).collect()
        };
        let mut rows = row("prefetchnta", &again.after_prefetchnta);
        rows.extend(row("read", &again.after_plain_read));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Memory {
        figures().publication().machines.remove(0).1.memory.unwrap()
    }

    fn rate(op: Operation, instruction: &str, cache_type: CacheType, bytes: u64) -> MemoryRate {
        let rates = memory().rates;
        let wanted = |rate: &&MemoryRate| {
            (rate.op, &*rate.instruction, rate.cache_type, rate.bytes) == (op, instruction, cache_type, bytes)
        };
        let matching: Vec<_> = rates.iter().filter(wanted).collect();
        assert_eq!(matching.len(), 1, "{op} {instruction} {cache_type} {bytes}");
        matching[0].clone()
    }

    fn median(estimate: &Option<Estimate>) -> Option<f64> {
        estimate.as_ref().map(|estimate| estimate.median)
    }

    #[test]
    fn every_printed_rate_becomes_one_of_the_profile() {
        // Tables 2, 4 and 5: three types, Table 3: four columns, Table 6: two by two, Table 8: two; at three sizes.
        assert_eq!(memory().rates.len(), (3 + 4 + 3 + 3 + 4 + 2) * 3);
        let store = rate(Operation::Write, "simd", CacheType::WriteBack, 1 << 20);
        assert_eq!((median(&store.bytes_per_s), median(&store.bursts)), (Some(171e6), Some(24576.0)));
        let streaming = rate(Operation::Write, "simd-nt", CacheType::WriteBack, 512);
        assert_eq!((median(&streaming.bytes_per_s), &streaming.bursts), (Some(986e6), &None));
        let copy = rate(Operation::Copy, "plain", CacheType::WriteCombining, 65536);
        assert_eq!(median(&copy.bytes_per_s), Some(41e6));
        let prefetched = rate(Operation::Copy, "simd-prefetchnta", CacheType::WriteBack, 65536);
        assert_eq!(median(&prefetched.bytes_per_s), Some(529e6));
    }

    /// The printed transactions are whole lines, words of 4 bytes and of 8.
    #[test]
    fn transactions_follow_from_the_sizes() {
        for &bytes in &figures().machine.sizes_bytes {
            let counts = |op, instruction, cache_type| {
                let rate = rate(op, instruction, cache_type, bytes);
                [&rate.bursts, &rate.partials].map(|count| median(count).unwrap() as u64)
            };
            assert_eq!(counts(Operation::Write, "simd", CacheType::WriteCombining), [bytes / 32, 0]);
            assert_eq!(counts(Operation::Read, "plain", CacheType::WriteCombining), [0, bytes / 4]);
            assert_eq!(counts(Operation::Write, "simd", CacheType::Uncached), [0, bytes / 8]);
        }
    }

    /// A status read is one word at Table 4's uncached rate.
    #[test]
    fn the_constants_agree_with_the_tables() {
        let paper = figures();
        let word_ns = 4.0 / (paper.memory_to_register.plain.mb_s["uc"][0] * 1e6) * 1e9;
        assert!((word_ns / paper.path.dimmnet_status_read - 1.0).abs() < 0.03, "{word_ns}");
        let line_ns = (paper.wbinvd_us.range[1] - paper.wbinvd_us.range[0]) * 1e3 / 8192.0;
        assert!((line_ns - 81.0).abs() < 0.1, "{line_ns}");
    }
}
