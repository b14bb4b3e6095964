//! `coho counters`: what reading a performance counter costs, and which events may be used.

use coho_probe::Experiment;
use coho_probe::counters::Options;
use coho_profile::Profile;
use coho_show::part::Section;
use coho_show::{Subject, sections};

use coho_topology::CpuSet;

use crate::arguments::{Course, cpus};
use crate::results::Results;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Measure on the first of these CPUs (0-3,8) [default: all that the process may use]
    #[arg(long, alias = "cpu", value_name = "LIST", value_parser = cpus)]
    cpus: Option<CpuSet>,
    /// Fewer repetitions
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    course: Course,
    #[command(flatten)]
    results: Results,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let options = Options {
        cpu: args.cpus.as_ref().and_then(CpuSet::first),
        quick: args.quick,
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
    };
    let measured = args.results.file.measure(&options, Options::SECTION)?.section;
    let profile = Profile { counters: Some(measured), ..Profile::default() };
    args.results.show(profile, |profile| profile.counters, beside_the_paper)
}

/// The section, followed by the paper's table with these figures.
fn beside_the_paper(subject: &Subject) -> Option<Section> {
    let mut section = sections::counters::section(subject)?;
    section.parts.extend(sections::papers::shimosawa_hori_ishikawa::parts(subject));
    Some(section)
}
