//! `coho counters`: what reading a performance counter costs, and which events may be used.

use coho_probe::counters::Options;
use coho_show::part::Section;
use coho_show::{Subject, sections};
use coho_topology::CpuSet;

use crate::arguments::cpus;
use crate::results::Run;

const EXAMPLES: &str =
    examples![("What reading a counter costs here, and which events may be used", "coho counters")];

/// Measure what reading a counter costs, and which events work
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Measure on the first of these CPUs (0-3,8) [default: all that the process may use]
    #[arg(long, alias = "cpu", value_name = "LIST", value_parser = cpus)]
    cpus: Option<CpuSet>,
    /// Fewer repetitions
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    run: Run,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let Run { course, results } = &args.run;
    let options = Options { quick: args.quick, course: course.on(args.cpus.as_ref()) };
    let measured = results.file.begin()?.measure(&options, false)?;
    results.how.show_section(measured.section, beside_the_paper)
}

/// The section, followed by the paper's table with these figures.
fn beside_the_paper(subject: &Subject) -> Option<Section> {
    let mut section = sections::counters::section(subject)?;
    section.parts.extend(sections::papers::shimosawa_hori_ishikawa::parts(subject));
    Some(section)
}
