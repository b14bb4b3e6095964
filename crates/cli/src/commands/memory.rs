//! `coho memory`: how fast data moves, by instruction, memory type and size.

use std::path::PathBuf;

use anyhow::bail;
use clap::ValueEnum;
use coho_platform::pages::Paging;
use coho_probe::Experiment;
use coho_probe::memory::provider::Physical;
use coho_probe::memory::{Options, Part};
use coho_profile::{BlockState, CacheType, Fence, Operation, Profile};
use coho_show::part;
use coho_show::sections;

use crate::arguments::{self, Course, Teams, named, offering};
use crate::results::Results;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Measure only these parts; the profile that -o names keeps its others [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    parts: Vec<PartName>,
    #[command(flatten)]
    teams: Teams,
    /// Block sizes (512,64K,1M) [default: these and, for one thread, a sweep up to four times the largest cache]
    ///
    /// With --quick there is no sweep.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = arguments::size)]
    sizes: Vec<u64>,
    /// Operations: write, read, copy [default: all]
    #[arg(long = "operations", alias = "op", value_name = "LIST", value_delimiter = ',',
          hide_possible_values = true,
          value_parser = offering(|name: &str| named(&Operation::ALL, name), Operation::ALL.map(Operation::name)))]
    op: Vec<Operation>,
    /// Instructions: plain-8, avx2 (includes avx2-nt and its other forms), … [default: all that the CPU has]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    instructions: Vec<String>,
    /// State of the block beforehand: warm, fresh, dirty, flushed, shared, remote [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          value_parser = offering(|name: &str| named(&BlockState::ALL, name), BlockState::ALL.map(BlockState::name)))]
    state: Vec<BlockState>,
    /// When to wait for stores: after each call, once a run, or never (none) [default: all, if it matters]
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          value_parser = offering(|name: &str| named(&Fence::ALL, name), Fence::ALL.map(Fence::name)))]
    fence: Vec<Fence>,
    /// Memory types: WB, WC, UC [default: WB, and those that pass their self-test]
    #[arg(long = "type", value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          value_parser = offering(|name: &str| named(&CacheType::ALL, name), CacheType::ALL.map(CacheType::name)))]
    types: Vec<CacheType>,
    /// Also use this memory of an unused PCI device (/sys/bus/pci/devices/0000:01:00.0/resource2_wc)
    ///
    /// coho writes to it and restores it, so name none that is in use.
    #[arg(long, value_name = "FILE")]
    pci_bar: Vec<PathBuf>,
    /// Also use these unused physical addresses (0xfd000000+0x10000), through /dev/mem
    ///
    /// coho writes to them and restores them, so name none that are in use.
    #[arg(long, value_name = "START+BYTES")]
    physical: Vec<Physical>,
    /// Pages of ordinary memory
    #[arg(long, value_enum, default_value = "huge")]
    pages: Pages,
    /// NUMA node of the buffers [default: the thread's own]
    #[arg(long, value_name = "NODE")]
    node: Option<u32>,
    /// Fewer instructions, sizes and passes
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    course: Course,
    #[command(flatten)]
    results: Results,
}

/// The parts of the section.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PartName {
    /// Rates by instruction, size, threads, state and fence
    Rates,
    /// Latency by size
    Latency,
    /// Latency while other CPUs stream
    Loaded,
    /// Lines written back explicitly
    Coherence,
    /// What PREFETCHNTA leaves in the caches
    Prefetchnta,
    /// Transfers by engines other than the CPU
    Dma,
    /// Messages between two processes
    Transfers,
}

/// Kinds of pages.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Pages {
    /// Small ones
    Small,
    /// Huge ones if the kernel provides them
    Huge,
    /// Huge ones that are reserved (vm.nr_hugepages)
    Reserved,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let measured = args.results.file.measure(&options(args), Options::SECTION)?;
    let (memory, topology) = (measured.section, measured.topology);
    let is_empty = memory.rates.is_empty() && !memory.method.interrupted;
    let has_reasons = !memory.method.not_available.is_empty();
    let profile = Profile { topology: Some(topology.into()), memory: Some(memory), ..Profile::default() };
    args.results.show(
        profile,
        |profile| profile.memory,
        |subject| {
            let mut section = sections::memory::section(subject)?;
            let asked =
                subject.profile.memory.iter().flat_map(|memory| sections::memory::asked(memory, &args.types));
            let asked = asked.map(part::Part::summary);
            section.parts.splice(0..0, asked.collect::<Vec<_>>());
            Some(section)
        },
    )?;
    let rates = args.parts.is_empty() || args.parts.iter().any(|part| matches!(part, PartName::Rates));
    if rates && is_empty {
        let why = match (has_reasons, args.results.how.json) {
            (false, _) => ": each window was interrupted",
            (true, true) => "; 'method.not_available' says why",
            (true, false) => "; the lines above say why",
        };
        bail!("no rate was measured{why}");
    }
    Ok(())
}

fn options(args: &Args) -> Options {
    let default = if args.quick { Options::quick() } else { Options::default() };
    let part = |part: &PartName| match part {
        PartName::Rates => Part::Rates,
        PartName::Latency => Part::Latency,
        PartName::Loaded => Part::Loaded,
        PartName::Coherence => Part::Coherence,
        PartName::Prefetchnta => Part::Prefetchnta,
        PartName::Dma => Part::Dma,
        PartName::Transfers => Part::Transfers,
    };
    Options {
        parts: if args.parts.is_empty() {
            default.parts.clone()
        } else {
            args.parts.iter().map(part).collect()
        },
        cpus: args.teams.cpus(),
        threads: args.teams.threads.clone(),
        mappings: args.teams.mappings(),
        sizes: args.sizes.clone(),
        operations: args.op.clone(),
        instructions: args.instructions.clone(),
        states: args.state.clone(),
        fences: args.fence.clone(),
        types: args.types.clone(),
        pci_bars: args.pci_bar.clone(),
        physical: args.physical.clone(),
        paging: match args.pages {
            Pages::Small => Paging::Small,
            Pages::Huge => Paging::Huge,
            Pages::Reserved => Paging::Reserved,
        },
        node: args.node,
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
        ..default
    }
}
