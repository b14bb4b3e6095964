//! `coho memory`: how fast data moves, by instruction, memory type and size.

use std::path::PathBuf;

use anyhow::bail;
use coho_platform::pages::Paging;
use coho_probe::memory::provider::Physical;
use coho_probe::memory::{Options, Part};
use coho_profile::{BlockState, CacheType, Fence, Operation};
use coho_show::part;
use coho_show::sections;

use crate::arguments::{self, Teams, choices, named, offering};
use crate::results::Run;

const EXAMPLES: &str = examples![
    ("How fast data moves here", "coho memory"),
    (
        "Copies between 4 KiB and 64 MiB by two instructions",
        "coho memory --operations copy --sizes 4K,64K,64M --instructions avx2,avx2-nt",
    ),
];

/// Measure how fast data moves, by instruction, memory type and size
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Measure only these parts; the profile that -o names keeps its others [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = choices(PARTS))]
    parts: Vec<Part>,
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
    #[arg(long, default_value = "huge", value_parser = choices(PAGES))]
    pages: Paging,
    /// NUMA node of the buffers [default: the thread's own]
    #[arg(long, value_name = "NODE")]
    node: Option<u32>,
    /// Fewer instructions, sizes and passes
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    run: Run,
}

const PARTS: &[(Part, &str, &str)] = &[
    (Part::Rates, "rates", "Rates by instruction, size, threads, state and fence"),
    (Part::Latency, "latency", "Latency by size"),
    (Part::Coherence, "coherence", "Lines written back explicitly"),
    (Part::Prefetchnta, "prefetchnta", "What PREFETCHNTA leaves in the caches"),
    (Part::Dma, "dma", "Transfers by engines other than the CPU"),
    (Part::Transfers, "transfers", "Messages between two processes"),
];

const PAGES: &[(Paging, &str, &str)] = &[
    (Paging::Small, "small", "Small ones"),
    (Paging::Huge, "huge", "Huge ones if the kernel provides them"),
    (Paging::Reserved, "reserved", "Huge ones that are reserved (vm.nr_hugepages)"),
];

pub fn run(args: &Args) -> anyhow::Result<()> {
    let results = &args.run.results;
    let memory = results.file.begin()?.measure(&options(args), false)?.section;
    let is_empty = memory.rates.is_empty() && !memory.method.interrupted;
    let has_reasons = !memory.method.not_available.is_empty();
    results.how.show_section(memory, |subject| {
        let mut section = sections::memory::section(subject)?;
        let asked =
            subject.profile.memory.iter().flat_map(|memory| sections::memory::asked(memory, &args.types));
        let asked = asked.map(part::Part::summary);
        section.parts.splice(0..0, asked.collect::<Vec<_>>());
        Some(section)
    })?;
    let rates = args.parts.is_empty() || args.parts.contains(&Part::Rates);
    if rates && is_empty {
        let why = match (has_reasons, results.how.json) {
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
    Options {
        parts: if args.parts.is_empty() { default.parts } else { args.parts.clone() },
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
        paging: args.pages,
        node: args.node,
        quick: args.quick,
        course: args.run.course.on(args.teams.cpus.as_ref()),
    }
}
