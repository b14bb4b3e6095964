//! `coho predict placement`: how ULE treats programs, by the topology that it believes in.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use coho_model::placement::{
    self, Costs, Finding, Machine, Outcome, Prediction, RUNS, SEED, Unchecked, View, Workload, freebsd_order,
    predict,
};
use coho_model::stability;
use coho_profile::{Coherence, Profile, published};
use coho_show::sections::placement as shown;
use coho_topology::cpuid::Dump;
use coho_topology::{Loaded, Topology};

use super::topology::Kernel;
use crate::printed::How;
use coho_show::Subject;

/// The most CPUs: more than FreeBSD supported at the article's time.
const MAX_CPUS: usize = 256;

const EXAMPLES: &str = examples![(
    "How FreeBSD's scheduler treats programs under each of three topologies",
    "coho predict placement --why",
)];

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A profile with a topology [default: the article's machine]
    ///
    /// If its pairs of CPUs were measured, they give the costs of moving lines.
    #[arg(value_name = "PROFILE")]
    profile: Option<String>,
    /// A description of a machine, as `coho topology --from` reads it
    #[arg(long, value_name = "PATH", conflicts_with = "profile")]
    from: Option<PathBuf>,
    /// Views of the topology to compare, each named by its kernel [default: stock, control, patched and full, where
    /// known]
    ///
    /// The others are compared with the first.
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    topology: Vec<Kernel>,
    /// Which workloads: pipe_context_switching, kernel_build, compute_2, … [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = workload)]
    workload: Vec<Workload>,
    /// Take a cost as known: `idle_exit_ns=1500`
    #[arg(long, value_name = "NAME=VALUE", value_parser = cost)]
    cost: Vec<(String, f64)>,
    /// How often to run each workload, each time with other costs from their ranges
    #[arg(long, value_name = "N", default_value_t = RUNS, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Seed for the costs and for all other randomness
    #[arg(long, value_name = "N", default_value_t = SEED)]
    seed: u64,
    /// Only compare the simulator with the profile's own programs on one CPU and on two, as `coho bench` runs them
    #[arg(long, requires = "profile", conflicts_with_all = ["topology", "workload", "why"])]
    check: bool,
    /// Also show where tasks were put, and how often their CPU had halted
    #[arg(long)]
    why: bool,
    #[command(flatten)]
    how: How,
}

fn workload(text: &str) -> Result<Workload, String> {
    let names = || Workload::ALL.map(Workload::name).join(", ");
    let workload = Workload::ALL.into_iter().find(|workload| workload.name() == text);
    workload.ok_or_else(|| format!("workloads are {}", names()))
}

fn cost(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let value = value.parse().map_err(|_| format!("'{value}' is not a number"))?;
    Costs::default().set(name, value).map_err(|error| error.to_string())?;
    Ok((name.to_owned(), value))
}

/// Names, and why each is not available.
type Reasons = Vec<(String, String)>;

/// The machine in question, and what is known about it.
struct Question {
    label: String,
    topology: Topology,
    dump: Option<Dump>,
    coherence: Option<Coherence>,
    /// Its measurements, if it is a profile.
    profile: Option<Profile>,
    /// Whether it is the article's machine, so that the article's measurements are shown beside the predictions.
    published: bool,
    /// Whether it is a paper's machine with the paper's figures.
    of_paper: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let question = Question::of(args)?;
    let mut costs = Costs::default();
    for (name, value) in &args.cost {
        costs.set(name, *value)?;
    }
    let checked = match &question.profile {
        Some(profile) => placement::check(profile, &costs, args.runs, args.seed).map_err(Unchecked::from),
        None => Err(Unchecked::NoProfile),
    };
    if args.check {
        let checked = checked.map_err(|why| anyhow::anyhow!("{}: not checked: {why}", question.label))?;
        return args.how.print(&checked, shown::check);
    }
    // Measured costs replace assumed ones here, too.
    let costs = match &checked {
        Ok(checked) => checked.costs.clone(),
        Err(_) => costs,
    };
    let cpus = question.topology.pus.len();
    ensure!(cpus > 0, "{}: the topology has no CPU", question.label);
    ensure!(cpus <= MAX_CPUS, "{}: {cpus} CPUs; the simulator takes {MAX_CPUS}", question.label);
    let order = freebsd_order(&question.topology);
    let machine = Machine::new(&question.topology, &order, question.coherence.as_ref());
    let (views, not_available) = question.views(&args.topology)?;
    let workloads = if args.workload.is_empty() { Workload::ALL.to_vec() } else { args.workload.clone() };
    let predictions: Vec<Prediction> = workloads
        .iter()
        .flat_map(|&workload| predict(&machine, &views, workload, &costs, args.runs, args.seed))
        .collect();
    let findings = match question.published {
        true => Finding::of(&predictions),
        false => Vec::new(),
    };
    let measured =
        question.coherence.as_ref().filter(|_| !question.of_paper && machine.measured_pairs().0 > 0);
    let condition = measured.and_then(stability::condition);
    let outcome = Outcome {
        machine: question.label,
        measured_pairs: machine.measured_pairs(),
        condition,
        views,
        predictions,
        findings,
        checked,
        costs,
        runs: args.runs,
        seed: args.seed,
        not_available,
    };
    args.how.print(&outcome, |outcome| shown::outcome(outcome, args.why))
}

impl Question {
    fn of(args: &Args) -> anyhow::Result<Self> {
        if let Some(path) = &args.from {
            return Self::described(path, coho_topology::load(path)?);
        }
        let Some(name) = &args.profile else {
            let paper = published::paper("kimoto-bulldozer");
            let dump = paper.cpuid();
            let topology = coho_topology::cpuid::decode(&dump)?;
            let label = paper.machine().host.and_then(|host| host.cpu).unwrap_or_default();
            return Ok(Self {
                label,
                topology,
                dump: Some(dump),
                coherence: None,
                profile: None,
                published: true,
                of_paper: true,
            });
        };
        if !name.starts_with("published:") {
            let profile = Profile::read(Path::new(name)).context("cannot read a profile")?;
            let section = profile.topology.clone();
            let section = section.with_context(|| format!("{name}: the profile has no topology"))?;
            let described = Self::described(Path::new(name), section.topology.into())?;
            return Ok(Self { coherence: profile.coherence.clone(), profile: Some(profile), ..described });
        }
        let subject = Subject::load(name)?.remove(0);
        let published = subject.label.starts_with("kimoto-bulldozer");
        let section =
            subject.profile.topology.with_context(|| format!("{name}: the paper gives no topology"))?;
        Ok(Self {
            label: subject.label,
            topology: section.topology,
            dump: published.then(|| published::paper("kimoto-bulldozer").cpuid()),
            coherence: subject.profile.coherence,
            profile: None,
            published,
            of_paper: subject.published,
        })
    }

    fn described(path: &Path, loaded: Loaded) -> anyhow::Result<Self> {
        let Loaded { topology, dump, .. } = loaded;
        let label = path.display().to_string();
        Ok(Self { label, topology, dump, coherence: None, profile: None, published: false, of_paper: false })
    }

    /// The requested views, or all that are known; and why others are missing.
    fn views(&self, asked: &[Kernel]) -> anyhow::Result<(Vec<View>, Reasons)> {
        let all = [Kernel::Stock, Kernel::Control, Kernel::Patched, Kernel::Full];
        let (mut views, mut not_available) = (Vec::new(), Vec::new());
        for &kernel in if asked.is_empty() { &all[..] } else { asked } {
            match View::new(kernel.name(), kernel.variant(), &self.topology, self.dump.as_ref()) {
                Ok(view) => views.push(view),
                Err(why) if asked.is_empty() => {
                    not_available.push((kernel.name().to_owned(), why.to_string()))
                }
                Err(why) => bail!("{}: {}: {why}", self.label, kernel.name()),
            }
        }
        Ok((views, not_available))
    }
}
