//! `coho kernels`: programs that depend on barriers, under several of them.

use anyhow::bail;
use coho_probe::kernels::{Options, Which};
use coho_show::sections;

use crate::arguments::{Teams, choices};
use crate::results::Run;

const EXAMPLES: &str = examples![("DAXPY under every barrier", "coho kernels daxpy --quick")];

/// Run barrier-bound programs: DAXPY, Galerkin, shallow water
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The program
    #[arg(value_parser = choices(PROGRAMS))]
    kernel: Which,
    #[command(flatten)]
    teams: Teams,
    /// Fewer sizes and passes
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    run: Run,
}

const PROGRAMS: &[(Which, &str, &str)] = &[
    (Which::Daxpy, "daxpy", "A(i) = B(i) + s C(i), by loop length"),
    (
        Which::Galerkin,
        "galerkin",
        "Natural convection by a spectral Galerkin method: many short parallel loops",
    ),
    (Which::Weather, "weather", "A shallow-water model: one parallel region, few barriers"),
];

pub fn run(args: &Args) -> anyhow::Result<()> {
    let Run { course, results } = &args.run;
    let options = Options {
        threads: args.teams.threads.clone(),
        mappings: args.teams.mappings(),
        quick: args.quick,
        course: course.on(args.teams.cpus.as_ref()),
        ..Options::of(args.kernel)
    };
    let name = args.kernel.name();
    let mut sync = results.file.begin()?.measure(&options, false)?.section;
    let kernel = sync.kernels.remove(name).unwrap_or_default();
    results.how.print(&kernel, |kernel| sections::programs::parts(name, kernel))?;
    if kernel.points.is_empty() && !kernel.method.interrupted {
        bail!("nothing was measured; 'method.not_available' of --json says why");
    }
    Ok(())
}
