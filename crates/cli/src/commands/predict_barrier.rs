//! `coho predict barrier`: what barriers, fork and join would take on a machine, from its latencies.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use coho_model::Matrix;
use coho_model::barrier::{
    Machine, Mapping, Prediction, barrier_limit, fork_join_limit, predict, predict_fork_join,
};
use coho_profile::{Profile, read_text};
use serde_json::json;

use crate::report::subject::Subject;
use crate::report::text;
use crate::terminal::table;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A profile with coherence, a matrix of one-way times in ns (FILE.csv), or `published:kawabe-furuya/x7560`
    #[arg(value_name = "PROFILE|MATRIX.csv")]
    machine: String,
    /// Number of threads [default: one a CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    threads: Option<u32>,
    /// Which CPUs the ranks take: sequential, binary-tree [default: both]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    mapping: Vec<Mapping>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let machine = machine(&args.machine).with_context(|| args.machine.clone())?;
    let threads = args.threads.map_or(machine.len(), |threads| threads as usize);
    let mappings = if args.mapping.is_empty() { Mapping::ALL.to_vec() } else { args.mapping.clone() };
    let (mut barriers, mut fork_joins) = (Vec::new(), Vec::new());
    for &mapping in &mappings {
        barriers.extend(predict(&machine, threads, mapping)?);
        fork_joins.extend(predict_fork_join(&machine, threads, mapping)?);
    }
    let team: Vec<usize> = mappings[0].order(&machine).into_iter().take(threads).collect();
    let limits = (barrier_limit(&machine, &team), fork_join_limit(&machine, &team, 0));
    let mut out = std::io::stdout().lock();
    if args.json {
        let assumptions = json!({
            "latency": machine.latency_source.to_string(),
            "extra_line_ns": machine.extra_line.ns,
            "extra_line": machine.extra_line.source.to_string(),
            "local_ns": machine.local.ns,
            "local": machine.local.source.to_string(),
            "notes": machine.notes,
        });
        let all = json!({
            "limit_ns": { "barrier": limits.0, "fork_join": limits.1 },
            "algorithms": barriers.iter().map(row).collect::<Vec<_>>(),
            "fork_join": fork_joins.iter().map(row).collect::<Vec<_>>(),
            "method": assumptions,
        });
        writeln!(out, "{all:#}")?;
        return Ok(());
    }
    writeln!(
        out,
        "Limit of {threads} threads, {}: barrier {} ns, fork and join {} ns\n",
        mappings[0],
        text::number(limits.0),
        text::number(limits.1)
    )?;
    for (title, predictions) in [("barrier", &barriers), ("fork, join", &fork_joins)] {
        let rows = predictions.iter().map(|prediction| {
            [
                name(prediction),
                prediction.mapping.to_string(),
                text::number(prediction.ns),
                format!("{:.2}", prediction.times_limit),
            ]
        });
        writeln!(out, "{}\n", table::table([title, "mapping", "ns", "x limit"], 2, rows.collect()))?;
    }
    for (what, source) in [
        ("latencies", machine.latency_source.to_string()),
        (
            "an extra line",
            format!("{} ns, {}", text::number(machine.extra_line.ns), machine.extra_line.source),
        ),
        (
            "work of a thread's own",
            format!("{} ns, {}", text::number(machine.local.ns), machine.local.source),
        ),
    ] {
        writeln!(out, "{}", table::wrapped(&format!("{what}: "), &text::tame(&source)))?;
    }
    for note in &machine.notes {
        writeln!(out, "{}", table::wrapped("", &text::tame(note)))?;
    }
    Ok(())
}

fn machine(source: &str) -> anyhow::Result<Machine> {
    let is_matrix =
        Path::new(source).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    if is_matrix {
        return Ok(Machine::from_matrix(&Matrix::parse_csv(&read_text(Path::new(source))?)?)?);
    }
    let profiles: Vec<Profile> =
        Subject::load_all(&[source.to_owned()])?.into_iter().map(|subject| subject.profile).collect();
    match &profiles[..] {
        [profile] => Ok(Machine::from_profile(profile)?),
        _ => bail!("name one machine of it, as in published:kawabe-furuya/x7560"),
    }
}

/// The algorithm with its layout and groups: `grid 16x8`.
fn name(prediction: &Prediction) -> String {
    let layout = prediction.algorithm.layout();
    let layout = if layout.is_empty() { String::new() } else { format!(", {layout}") };
    let shape: Vec<_> = prediction.shape.iter().map(usize::to_string).collect();
    let shape = if shape.is_empty() { String::new() } else { format!(" {}", shape.join("x")) };
    format!("{}{layout}{shape}", prediction.algorithm.name())
}

fn row(prediction: &Prediction) -> serde_json::Value {
    json!({
        "name": prediction.algorithm.name(),
        "layout": prediction.algorithm.layout(),
        "shape": prediction.shape,
        "threads": prediction.threads,
        "mapping": prediction.mapping.to_string(),
        "ns": prediction.ns,
        "times_limit": prediction.times_limit,
    })
}
