//! `coho predict barrier`: what barriers, fork and join would take on a machine, from its latencies.

use std::path::Path;

use anyhow::{Context, bail};
use coho_model::barrier::{ExtraLine, Fit, Forecast, Machine, Mapping, Published, Source, Tier, fit};
use coho_model::{Matrix, stability};
use coho_profile::{Ns, Profile, read_text};
use coho_show::Subject;
use coho_show::sections::predictions::barriers;

use crate::printed::How;

const EXAMPLES: &str = examples![(
    "Which barrier 2 threads should take, and what it costs",
    "coho predict barrier mine.json --threads 2",
)];

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A profile with coherence, a matrix of one-way times in ns (FILE.csv), a publication, or a hierarchy of equal
    /// units
    ///
    /// Give a publication as `published:kawabe-furuya/x7560`, and a hierarchy as `hierarchy:2=10,16=30,128=90`: 2
    /// CPUs that are 10 ns apart, 16 that are 30 ns apart, and so on.
    #[arg(value_name = "PROFILE|MATRIX.csv")]
    machine: String,
    /// Number of threads [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    threads: Option<u32>,
    /// How to assign ranks to CPUs: sequential, binary-tree [default: both]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    mapping: Vec<Mapping>,
    /// What one more remote line costs a reader [default: as measured; 3 ns if it was not]
    #[arg(long, value_name = "NS", value_parser = extra_line)]
    extra_line: Option<Ns>,
    #[command(flatten)]
    how: How,
}

fn extra_line(text: &str) -> Result<Ns, String> {
    match text.parse::<f64>() {
        Ok(ns) if ns.is_finite() && ns >= 0.0 => Ok(Ns(ns)),
        _ => Err("give a time in ns, 0 or more".into()),
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let forecast = forecast(args).with_context(|| args.machine.clone())?;
    args.how.print(&forecast, barriers::parts)
}

fn forecast(args: &Args) -> anyhow::Result<Forecast> {
    let (mut machine, profile, fit) = machine(&args.machine)?;
    if let Some(time) = args.extra_line {
        machine.extra_line = ExtraLine::between(time, time, time, Source::Assumed("as asked for".into()));
    }
    let variants = match &fit {
        Some(fit) if args.extra_line.is_none() => fit.alternatives.clone(),
        _ => machine.variants(),
    };
    let threads = args.threads.map_or(machine.len(), |threads| threads as usize);
    let mappings = if args.mapping.is_empty() { Mapping::ALL.to_vec() } else { args.mapping.clone() };
    let forecast = Forecast::of(machine, &variants, threads, &mappings, &profile)?;
    Ok(Forecast { fit, ..forecast })
}

fn machine(source: &str) -> anyhow::Result<(Machine, Profile, Option<Fit>)> {
    let none = Profile::default;
    if let Some(tiers) = source.strip_prefix("hierarchy:") {
        return Ok((Machine::hierarchical(&hierarchy(tiers)?)?, none(), None));
    }
    let is_matrix =
        Path::new(source).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    if is_matrix {
        let matrix = Matrix::parse(&read_text(Path::new(source))?)?;
        return Ok((Machine::from_matrix(&matrix)?, none(), None));
    }
    let mut subjects = Subject::load_all(&[source.to_owned()])?;
    if subjects.len() > 1 {
        bail!("name one machine of it, as in published:kawabe-furuya/x7560");
    }
    let subject = subjects.remove(0);
    // That paper reports barriers and no latencies; these are fitted to its times.
    if subject.published && subject.label.starts_with("nakamura-fbs/") {
        let fit = fit(&Published::sr11000())?;
        return Ok((fit.machine.clone(), none(), Some(fit)));
    }
    let mut machine = Machine::from_profile(&subject.profile)?;
    machine.notes.extend(subject.coherence().filter(|_| !subject.published).and_then(stability::condition));
    Ok((machine, subject.profile, None))
}

/// Parses `2=10,16=30`: CPUs in a unit and their one-way time in ns, innermost first.
fn hierarchy(text: &str) -> anyhow::Result<Vec<Tier>> {
    let tier = |part: &str| {
        let (cpus, ns) = part.split_once('=')?;
        Some(Tier { cpus: cpus.trim().parse().ok()?, one_way: Ns(ns.trim().parse().ok()?) })
    };
    let tiers: Option<Vec<Tier>> = text.split(',').map(tier).collect();
    tiers.context("write a level as CPUS=NS, innermost first, as in hierarchy:2=10,16=30,128=90")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_written_level_by_level() {
        let tiers = hierarchy("2=10, 16=30.5").unwrap();
        assert_eq!(tiers, [Tier { cpus: 2, one_way: Ns(10.0) }, Tier { cpus: 16, one_way: Ns(30.5) }]);
        for wrong in ["", "2", "2=", "two=10", "2=10;4=20"] {
            assert!(hierarchy(wrong).is_err(), "{wrong}");
        }
    }
}
