//! `coho predict barrier`: what barriers, fork and join would take on a machine, from its latencies.

use std::path::Path;

use anyhow::{Context, bail};
use coho_model::barrier::{
    Basis, By, Check, Comparison, ExtraLine, Fit, LeftOut, Machine, Mapping, Prediction, Published, Quickest,
    Source, Tier, add_ranges, add_rivals, barrier_limit, compare, fit, fork_join_limit, predict,
    predict_fork_join, predict_quick, quickest, team_sizes,
};
use coho_model::{Matrix, stability};
use coho_profile::{Profile, read_text};
use serde_json::{Value, json};

use crate::report::subject::Subject;
use crate::terminal;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A profile with coherence, a matrix of one-way times in ns (FILE.csv), a publication
    /// (`published:kawabe-furuya/x7560`), or a machine of equal units (`hierarchy:2=10,16=30,128=90`: 2 CPUs that are
    /// 10 ns apart, 16 that are 30 ns apart, …)
    #[arg(value_name = "PROFILE|MATRIX.csv")]
    machine: String,
    /// Number of threads [default: one a CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    threads: Option<u32>,
    /// Which CPUs the ranks take: sequential, binary-tree [default: both]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    mapping: Vec<Mapping>,
    /// What one more remote line costs a reader [default: as measured or, for want of that, 3 ns]
    #[arg(long, value_name = "NS", value_parser = extra_line)]
    extra_line: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn extra_line(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ns) if ns.is_finite() && ns >= 0.0 => Ok(ns),
        _ => Err("give a time in ns, 0 or more".into()),
    }
}

/// All that is predicted for a team.
pub struct Predicted {
    pub machine: Machine,
    pub threads: usize,
    /// The limits of barriers and of fork and join by mapping, in ns.
    pub limits: Vec<(Mapping, f64, f64)>,
    pub barriers: Vec<Prediction>,
    pub fork_joins: Vec<Prediction>,
    /// The winners by size of team and mapping.
    pub quickest: Vec<Quickest>,
    /// Measured on the same machine, or why that cannot be compared.
    pub compared: Result<Comparison, String>,
    /// A machine whose latencies are fitted to published times.
    pub fit: Option<Fit>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let predicted = Predicted::of(args).with_context(|| args.machine.clone())?;
    terminal::print(args.json, &predicted.json(), |out, _| terminal::predict_barrier::write(out, &predicted))
}

impl Predicted {
    fn of(args: &Args) -> anyhow::Result<Self> {
        let (mut machine, profile, fit) = machine(&args.machine)?;
        if let Some(ns) = args.extra_line {
            machine.extra_line = ExtraLine::between(ns, ns, ns, Source::Assumed("as asked for".into()));
        }
        let variants = match &fit {
            Some(fit) if args.extra_line.is_none() => fit.alternatives.clone(),
            _ => machine.variants(),
        };
        let threads = args.threads.map_or(machine.len(), |threads| threads as usize);
        let mappings = if args.mapping.is_empty() { Mapping::ALL.to_vec() } else { args.mapping.clone() };
        let (mut limits, mut barriers, mut fork_joins) = (Vec::new(), Vec::new(), Vec::new());
        let mut winners = Vec::new();
        for &mapping in &mappings {
            let of_all = predict(&machine, threads, mapping)?;
            let team = &machine.order(mapping)[..threads];
            limits.push((mapping, barrier_limit(&machine, team), fork_join_limit(&machine, team, 0)));
            for size in team_sizes(threads) {
                winners.extend(if size == threads {
                    quickest(&machine, mapping, &of_all)
                } else {
                    quickest(&machine, mapping, &predict_quick(&machine, size, mapping)?)
                });
            }
            barriers.extend(of_all);
            fork_joins.extend(predict_fork_join(&machine, threads, mapping)?);
        }
        add_ranges(&mut barriers, &variants);
        add_ranges(&mut fork_joins, &variants);
        winners.iter_mut().for_each(|winner| add_rivals(winner, &variants));
        let compared = compare(&machine, &profile).map_err(|error| error.to_string());
        Ok(Self { machine, threads, limits, barriers, fork_joins, quickest: winners, compared, fit })
    }

    fn json(&self) -> Value {
        let machine = &self.machine;
        let (_, barrier, fork_join) = self.limits[0];
        let limit = |(mapping, barrier, fork_join): &(Mapping, f64, f64)| json!({ "mapping": mapping.to_string(), "barrier": barrier, "fork_join": fork_join });
        let winner = |winner: &Quickest| {
            let mut row = row(&winner.quickest);
            row["rule"] = json!(terminal::predict_barrier::choice_name(&winner.choice));
            row["rule_ns"] = json!(winner.choice_ns);
            row["or_quickest"] = winner.rivals.iter().map(ToString::to_string).collect();
            row
        };
        let mut all = json!({
            "limit_ns": { "barrier": barrier, "fork_join": fork_join },
            "limits_ns": self.limits.iter().map(limit).collect::<Vec<_>>(),
            "algorithms": self.barriers.iter().map(row).collect::<Vec<_>>(),
            "fork_join": self.fork_joins.iter().map(row).collect::<Vec<_>>(),
            "quickest": self.quickest.iter().map(winner).collect::<Vec<_>>(),
            "method": {
                "latency": machine.latency_source.to_string(),
                "extra_line_ns": machine.extra_line.ns,
                "extra_line_of_latency": machine.extra_line.of_latency,
                "extra_line": machine.extra_line.source.to_string(),
                "extra_line_range": machine.extra_line.range.map(|gap| json!({ "ns": gap.ns, "of_latency": gap.of_latency })),
                "local_ns": machine.local.ns,
                "local": machine.local.source.to_string(),
                "notes": machine.notes,
            },
        });
        match &self.compared {
            Ok(found) => {
                all["measured"] = found.checks.iter().map(check_row).collect();
                all["method"]["not_predicted"] = found.left_out.iter().map(left_out).collect();
            }
            Err(why) => all["method"]["not_available"] = json!({ "measured": why }),
        }
        if let Some(fit) = &self.fit {
            let figure = |figure: &coho_model::barrier::Figure| {
                json!({
                    "name": figure.name,
                    "published": figure.published,
                    "fitted": figure.fitted,
                    "residual": figure.residual(),
                    "predicted_left_out": figure.left_out,
                    "error_left_out": figure.error_left_out(),
                })
            };
            let figures: Vec<Value> = fit.figures.iter().map(figure).collect();
            all["fit"] = json!({
                "latencies_ns": fit.tiers_ns,
                "extra_line_of_latency": fit.share,
                "shares_as_good": { "low": fit.shares.0, "high": fit.shares.1 },
                "figures": figures,
            });
        }
        all
    }
}

fn machine(source: &str) -> anyhow::Result<(Machine, Profile, Option<Fit>)> {
    let none = Profile::default;
    if let Some(tiers) = source.strip_prefix("hierarchy:") {
        return Ok((Machine::hierarchical(&hierarchy(tiers)?)?, none(), None));
    }
    let is_matrix =
        Path::new(source).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    if is_matrix {
        let matrix = Matrix::parse_csv(&read_text(Path::new(source))?)?;
        return Ok((Machine::from_matrix(&matrix)?, none(), None));
    }
    let mut subjects = Subject::load_all(&[source.to_owned()])?;
    if subjects.len() > 1 {
        bail!("name one machine of it, as in published:kawabe-furuya/x7560");
    }
    let subject = subjects.remove(0);
    // That paper tells of barriers and not of latencies: these are found from its times.
    if subject.published && subject.label.starts_with("nakamura-fbs/") {
        let fit = fit(&Published::sr11000())?;
        return Ok((fit.machine.clone(), none(), Some(fit)));
    }
    let mut machine = Machine::from_profile(&subject.profile)?;
    machine.notes.extend(subject.coherence().filter(|_| !subject.published).and_then(stability::condition));
    Ok((machine, subject.profile, None))
}

/// `2=10,16=30`: CPUs in a unit and their one-way time in ns, innermost first.
fn hierarchy(text: &str) -> anyhow::Result<Vec<Tier>> {
    let tier = |part: &str| {
        let (cpus, ns) = part.split_once('=')?;
        Some(Tier { cpus: cpus.trim().parse().ok()?, ns: ns.trim().parse().ok()? })
    };
    let tiers: Option<Vec<Tier>> = text.split(',').map(tier).collect();
    tiers.context("write a level as CPUS=NS, innermost first, as in hierarchy:2=10,16=30,128=90")
}

fn row(prediction: &Prediction) -> Value {
    json!({
        "name": prediction.algorithm.name(),
        "layout": prediction.algorithm.layout(),
        "shape": prediction.shape,
        "threads": prediction.threads,
        "mapping": prediction.mapping.to_string(),
        "by": prediction.by.map(By::name),
        "ns": prediction.ns,
        "range_ns": prediction.range_ns.map(|(low, high)| json!({ "low": low, "high": high })),
        "times_limit": prediction.times_limit,
    })
}

fn left_out(row: &LeftOut) -> Value {
    json!({ "operation": row.operation, "algorithm": row.algorithm, "why": row.why })
}

fn check_row(check: &Check) -> Value {
    let is_fit = check.basis == Basis::Fit;
    json!({
        "operation": check.operation,
        "by": check.by,
        "name": check.algorithm,
        "layout": check.layout,
        "threads": check.threads,
        "mapping": check.mapping.to_string(),
        "measured_ns": check.measured,
        "basis": check.basis.words(),
        "predicted_ns": (!is_fit).then_some(check.predicted_ns),
        "error": (!is_fit).then(|| check.error()),
        "fitted_ns": is_fit.then_some(check.predicted_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_written_level_by_level() {
        let tiers = hierarchy("2=10, 16=30.5").unwrap();
        assert_eq!(tiers, [Tier { cpus: 2, ns: 10.0 }, Tier { cpus: 16, ns: 30.5 }]);
        for wrong in ["", "2", "2=", "two=10", "2=10;4=20"] {
            assert!(hierarchy(wrong).is_err(), "{wrong}");
        }
    }
}
