//! `coho topology`: what the machine, or a description of one, says about its topology.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;
use coho_model::measured::{self, Measured, Suggestion, Tool};
use coho_profile::Profile;
use coho_topology::freebsd::{self, Variant};
use coho_topology::{Counts, Loaded, Topology, hwloc, tree};

use crate::arguments::is_stdout;
use coho_show::render::terminal::{columns, wrapped};
use coho_show::visible::{Out, Style};

const EXAMPLES: &str = examples![
    ("What this machine says it is", "coho topology"),
    ("What another machine's hwloc XML says", "coho topology --from other.xml"),
    ("What the times in a profile show instead", "coho topology --measured -p mine.json"),
];

/// Show the topology that a machine or its description claims
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES,
          group = clap::ArgGroup::new("correction").args(["measured", "suggest"]).multiple(true))]
pub struct Args {
    /// Read a description instead of this machine: a CPUID dump, a copied sysfs tree, hwloc XML, FreeBSD's
    /// kern.sched.topology_spec, or this command's JSON
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Tree)]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Print FreeBSD's kern.sched.topology_spec, as a kernel prints it or as it should be
    #[arg(long, value_name = "KERNEL", conflicts_with_all = ["format", "json"])]
    freebsd: Option<Kernel>,
    /// Number of 64-bit words in its CPU masks: 4 if MAXCPU is 256, 16 if it is 1024
    #[arg(long, value_enum, default_value_t = Words::Four, requires = "freebsd")]
    words: Words,
    /// Print the raw CPUID output that the topology was decoded from
    #[arg(long, conflicts_with_all = ["format", "json", "freebsd"])]
    dump_cpuid: bool,
    /// Correct the claims where the times in a profile contradict them
    #[arg(long, requires = "profile", conflicts_with_all = ["freebsd", "dump_cpuid"])]
    measured: bool,
    /// The profile with the times and the claimed topology
    #[arg(short, long, value_name = "PROFILE", requires = "correction")]
    profile: Option<PathBuf>,
    /// Print the options that make a guest or a kernel claim the topology that was measured
    #[arg(long, value_enum, value_name = "TOOL", requires = "profile",
          conflicts_with_all = ["format", "json", "freebsd", "dump_cpuid"])]
    suggest: Option<Whose>,
    /// Write to a file instead of standard output (-)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Tree,
    /// Counts, units, caches and their sources
    Json,
    /// For lstopo -i and other tools of hwloc
    HwlocXml,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Kernel {
    /// FreeBSD r281991 of 2015
    Stock,
    /// The same with Kimoto's patch for Bulldozer
    Patched,
    /// Stock with the tunable kern.smp.topology=5: the patch's pairs without their flag
    Control,
    /// FreeBSD of 2016 and later
    Modern,
    /// Everything known; no kernel prints this
    Full,
}

/// Which tool the options are for.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Whose {
    /// QEMU's command line
    Qemu,
    /// A libvirt domain's XML
    Libvirt,
    /// The running Linux
    Kernel,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Words {
    #[value(name = "4")]
    Four,
    #[value(name = "16")]
    Sixteen,
}

/// The output of `--json`: the counts, then the topology's own fields.
#[derive(serde::Serialize)]
struct Json<'a> {
    counts: Counts,
    #[serde(flatten)]
    topology: &'a Topology,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let text = match &args.profile {
        Some(profile) => as_measured(args, profile)?,
        None => {
            let loaded = load(args)?.map_or_else(coho_topology::detect_with_dump, Ok)?;
            for missing in &loaded.not_available {
                coho_show::say!("coho: not available: {missing}");
            }
            print(args, &loaded)?
        }
    };
    match &args.output {
        Some(path) if !is_stdout(path) => Ok(coho_profile::write_atomic(path, text.as_bytes())?),
        _ => Ok(Out::new(args.style()).write_all(text.as_bytes())?),
    }
}

/// The description to read instead of this machine, if there is one.
fn load(args: &Args) -> anyhow::Result<Option<Loaded>> {
    Ok(args.from.as_deref().map(coho_topology::load).transpose()?)
}

/// The claims of a profile or a description, corrected by its times.
fn as_measured(args: &Args, path: &Path) -> anyhow::Result<String> {
    let profile = Profile::read(path).context("cannot read a profile")?;
    let Some(coherence) = &profile.coherence else {
        bail!("{}: has no times between CPUs; add them with `coho coherence -o`", path.display());
    };
    let claimed = match load(args)? {
        Some(loaded) => loaded.topology,
        None => match profile.topology {
            Some(section) => section.topology,
            None => bail!("{}: has no claimed topology; name one by --from", path.display()),
        },
    };
    let measured = measured::measured(&claimed, coherence)?;
    let Measured { topology, corrections, notes, reservations, .. } = &measured;
    // The options carry the reservations.
    for note in notes.iter().filter(|note| args.suggest.is_none() || !reservations.contains(*note)) {
        coho_show::say!("coho: {note}");
    }
    for one in corrections {
        coho_show::say!("coho: {} {} in place of {}: {}", one.level, one.measured, one.claimed, one.why);
    }
    Ok(match args.suggest {
        Some(whose) => {
            let mut suggestion = measured::suggest(whose.tool(), topology);
            // The reservations must travel with the options.
            suggestion.lacks.extend(reservations.iter().cloned());
            suggested(&suggestion, whose)
        }
        None if args.is_tree() && args.output.as_deref().is_none_or(is_stdout) => {
            // Its reader has just been told.
            let mut tree = topology.clone();
            let was_told = |note: &str| notes.iter().any(|told| told == note);
            tree.notes.retain(|note| !was_told(note.strip_prefix(measured::AS_CLAIMED).unwrap_or(note)));
            print_topology(args, &tree)?
        }
        None => print_topology(args, topology)?,
    })
}

/// Options as the tool takes them; comments, as the tool has them, say what they leave out.
fn suggested(suggestion: &Suggestion, whose: Whose) -> String {
    let Suggestion { options, lacks } = suggestion;
    let commented = |lack: &String, begin: &str, end: &str| {
        let lines = wrapped("", lack);
        lines.lines().map(|line| format!("{begin}{line}{end}\n")).collect::<String>()
    };
    match whose {
        Whose::Libvirt => {
            let options: String = options.iter().map(|line| format!("  {line}\n")).collect();
            // Two hyphens would end a comment.
            let lacks = lacks.iter().map(|lack| commented(&lack.replace("--", "- -"), "  <!-- ", " -->"));
            format!("<domain>\n{options}{}</domain>\n", lacks.collect::<String>())
        }
        Whose::Qemu | Whose::Kernel => {
            let options: String = options.iter().map(|line| format!("{line}\n")).collect();
            options + &lacks.iter().map(|lack| commented(lack, "# ", "")).collect::<String>()
        }
    }
}

fn print(args: &Args, loaded: &Loaded) -> anyhow::Result<String> {
    let Loaded { topology, dump, .. } = loaded;
    if args.dump_cpuid {
        let dump = dump.as_ref().context("this source holds no raw CPUID answers")?;
        return Ok(dump.to_string());
    }
    if let Some(kernel) = args.freebsd {
        let spec = freebsd::predict(kernel.variant(), topology, dump.as_ref())?;
        return Ok(spec.to_xml(args.words.count())?);
    }
    print_topology(args, topology)
}

fn print_topology(args: &Args, topology: &Topology) -> anyhow::Result<String> {
    match args.format {
        _ if args.json => json(topology),
        Format::Json => json(topology),
        Format::HwlocXml => Ok(hwloc::write(topology)),
        Format::Tree => Ok(tree::render(topology, columns())),
    }
}

fn json(topology: &Topology) -> anyhow::Result<String> {
    let json = Json { counts: topology.counts(), topology };
    Ok(serde_json::to_string_pretty(&json)? + "\n")
}

impl Args {
    fn is_tree(&self) -> bool {
        self.format == Format::Tree && !self.json
    }

    /// The kind of text to print.
    fn style(&self) -> Style {
        match self.format {
            _ if self.dump_cpuid => Style::Data,
            _ if matches!(self.suggest, Some(Whose::Libvirt)) => Style::Xml,
            _ if self.suggest.is_some() => Style::Data,
            _ if self.freebsd.is_some() => Style::Xml,
            Format::HwlocXml => Style::Xml,
            Format::Json => Style::Json,
            Format::Tree if self.json => Style::Json,
            Format::Tree => Style::Plain,
        }
    }
}

impl Whose {
    fn tool(self) -> Tool {
        match self {
            Self::Qemu => Tool::Qemu,
            Self::Libvirt => Tool::Libvirt,
            Self::Kernel => Tool::Kernel,
        }
    }
}

impl Kernel {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Patched => "patched",
            Self::Control => "control",
            Self::Modern => "modern",
            Self::Full => "full",
        }
    }

    pub fn variant(self) -> Variant {
        match self {
            Self::Stock => Variant::Stock,
            Self::Patched => Variant::Patched,
            Self::Control => Variant::Control,
            Self::Modern => Variant::Modern,
            Self::Full => Variant::Full,
        }
    }
}

impl Words {
    fn count(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Sixteen => 16,
        }
    }
}
