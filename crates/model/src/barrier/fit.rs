//! The one-way times that the SR11000 must have had to give its published barrier times (Nakamura et al., "Fast
//! Barrier Synchronization Mechanism of SR11000 model H1", 2003, section 4.1).

use coho_profile::Ns;
use coho_profile::published;
use serde::Serialize;

use super::predict::team;
use super::{Algorithm, ExtraLine, Gap, Machine, Mapping, Source, Tier};
use crate::{Error, json};

/// What Nakamura et al. report about fork and join on one node of 16 CPUs: chips of two that share an L2, modules of
/// eight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// FBS with separate lines at 8 CPUs.
    pub separate_8: Ns,
    /// FBS with separate lines at 16 CPUs.
    pub separate_16: Ns,
    /// Lock variable over separate lines at 16 CPUs.
    pub lock_over_separate_16: f64,
    /// One line over separate lines at 16 CPUs.
    pub one_line_over_separate_16: f64,
    /// Binary-tree mapping's time over that of sequential mapping at 8 CPUs, separate lines.
    pub binary_tree_over_sequential_8: f64,
    /// The mapping behind the time at 8 CPUs. The paper does not name it; the binary tree agrees better with its
    /// other figures.
    pub mapping_8: Mapping,
}

impl Published {
    /// The paper's figures.
    pub fn sr11000() -> Self {
        let figure = |row| published::paper("nakamura-fbs").row("fork-join", row)[0];
        Self {
            separate_8: Ns(1000.0 * figure("fbs-8-us")),
            separate_16: Ns(1000.0 * figure("fbs-16-us")),
            lock_over_separate_16: figure("lock-over-fbs-16"),
            one_line_over_separate_16: figure("one-line-over-fbs-16"),
            binary_tree_over_sequential_8: figure("binary-tree-over-sequential-8"),
            mapping_8: Mapping::BinaryTree,
        }
    }
}

/// One published figure and what the model makes of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(into = "Row")]
pub struct Figure {
    /// What it is.
    pub name: &'static str,
    /// As published.
    pub published: f64,
    /// On the machine fitted to all figures, this one included: no prediction.
    pub fitted: f64,
    /// On a machine fitted to the other figures alone: a prediction.
    pub left_out: Option<f64>,
}

impl Figure {
    /// What the fit leaves unexplained, as a share of the published figure.
    pub fn residual(&self) -> f64 {
        self.fitted / self.published - 1.0
    }

    /// The prediction's error, as a share of the published figure.
    pub fn error_left_out(&self) -> Option<f64> {
        self.left_out.map(|predicted| predicted / self.published - 1.0)
    }
}

/// A figure in JSON.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    published: f64,
    fitted: f64,
    residual: f64,
    predicted_left_out: Option<f64>,
    error_left_out: Option<f64>,
}

impl From<Figure> for Row {
    fn from(figure: Figure) -> Self {
        Self {
            name: figure.name,
            published: figure.published,
            fitted: figure.fitted,
            residual: figure.residual(),
            predicted_left_out: figure.left_out,
            error_left_out: figure.error_left_out(),
        }
    }
}

/// The machine whose predictions come as near to the published figures as the model allows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// The machine; its tiers are the chip, the module and the node.
    #[serde(skip)]
    pub machine: Machine,
    /// One-way times within a chip, within a module and between modules.
    #[serde(rename = "latencies_ns")]
    pub tiers: [Ns; 3],
    /// The extra line's cost, as a share of the one-way time.
    #[serde(rename = "extra_line_of_latency")]
    pub share: f64,
    /// The smallest and the largest share of all machines that agree about as well.
    #[serde(rename = "shares_as_good", serialize_with = "json::ends")]
    pub shares: (f64, f64),
    /// Every published figure.
    pub figures: Vec<Figure>,
    /// Machines with other shares whose root mean square error is at most half as large again. Predictions may
    /// rest on any of them.
    #[serde(skip)]
    pub alternatives: Vec<Machine>,
}

/// Fits the three one-way times and the extra line's cost, as a share of the one-way time, to published figures.
///
/// There are five figures and four parameters, so the residuals hardly test the model, and the fitted value of a
/// figure is no prediction. A prediction of a figure comes from a fit to the other four, four figures against four
/// parameters. How much it moves with other shares that fit about as well shows how loosely the figures determine it.
///
/// # Errors
/// If a published figure is not positive.
pub fn fit(published: &Published) -> Result<Fit, Error> {
    let figures = [
        published.separate_8.0,
        published.separate_16.0,
        published.lock_over_separate_16,
        published.one_line_over_separate_16,
        published.binary_tree_over_sequential_8,
    ];
    if let Some(wrong) = figures.iter().find(|figure| !figure.is_finite() || **figure <= 0.0) {
        return Err(Error::new(format!("a published figure of {wrong}; times and ratios are positive")));
    }
    let error = |at: &Point| judge(at, published).map_or(f64::INFINITY, |figures| misfit(&figures, None));
    // Starts from several points, since the order in which lines are served makes the error uneven.
    let best = nearest(published, &SHARES, ALL, None);
    let least = error(&best);
    let others = SHARES.iter().map(|&share| nearest(published, &[share], TIERS, None));
    let others: Vec<Point> = others.filter(|at| error(at) <= AS_GOOD * AS_GOOD * least).collect();
    let shares = others.iter().map(|at| at[3]);
    let shares = shares.fold((best[3], best[3]), |(low, high), share| (low.min(share), high.max(share)));
    let mut figures = judge(&best, published)?;
    for (at, figure) in figures.iter_mut().enumerate() {
        let without = nearest(published, &FEW_SHARES, ALL, Some(at));
        figure.left_out = judge(&without, published).ok().map(|again| again[at].fitted);
    }
    let mut machine = machine(&best)?;
    machine.extra_line.range = [shares.0, shares.1].map(|of_latency| Gap { of_latency, ..Gap::NONE });
    Ok(Fit {
        machine,
        tiers: [best[0], best[1], best[2]].map(Ns),
        share: best[3],
        figures,
        alternatives: others.iter().map(self::machine).collect::<Result<_, _>>()?,
        shares,
    })
}

/// Shares of the extra line to start from.
const SHARES: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
const FEW_SHARES: [f64; 3] = [0.2, 0.5, 0.8];
/// Number of parameters fitted, including the share, and without it: then only the one-way times are fitted.
const ALL: usize = 4;
const TIERS: usize = 3;
/// Root mean square errors up to this many times the smallest count as equally good.
const AS_GOOD: f64 = 1.5;

/// The point nearest to all published figures but the one at `but_for`, starting from these shares.
fn nearest(published: &Published, shares: &[f64], free: usize, but_for: Option<usize>) -> Point {
    let scale = published.separate_16.0 / 16.0;
    let error = |at: &Point| judge(at, published).map_or(f64::INFINITY, |figures| misfit(&figures, but_for));
    let fits = shares.iter().map(|&share| search([0.3 * scale, 0.6 * scale, scale, share], free, error));
    fits.min_by(|a, b| error(a).total_cmp(&error(b))).expect("there are starts")
}

/// One-way times within a chip, a module and the node in ns, and the extra line's share.
type Point = [f64; 4];

fn machine(&[chip, module, node, share]: &Point) -> Result<Machine, Error> {
    let tiers = [(2, chip), (8, module), (16, node)].map(|(cpus, ns)| Tier { cpus, one_way: Ns(ns) });
    let mut machine = Machine::hierarchical(&tiers)?;
    let source = || Source::Fitted("published fork and join times of 8 and 16 CPUs".into());
    machine.latency_source = source();
    let gap = Gap { of_latency: share, ..Gap::NONE };
    machine.extra_line = ExtraLine { fixed: Ns::ZERO, of_latency: share, range: [gap; 2], source: source() };
    Ok(machine)
}

pub(super) fn judge(at: &Point, published: &Published) -> Result<Vec<Figure>, Error> {
    let machine = machine(at)?;
    let time = |algorithm: Algorithm, threads, mapping| -> Result<Ns, Error> {
        let team = team(&machine, threads, mapping)?;
        Ok(team.time(&team.region_by_barrier(algorithm), Ns::INFINITY).expect("it ends"))
    };
    use Mapping::{BinaryTree, Sequential};
    let separate_16 = time(Algorithm::Fbs, 16, Sequential)?;
    let (sequential, tree) = (time(Algorithm::Fbs, 8, Sequential)?, time(Algorithm::Fbs, 8, BinaryTree)?);
    let separate_8 = if published.mapping_8 == Sequential { sequential } else { tree };
    let figure = |name, published, fitted| Figure { name, published, fitted, left_out: None };
    Ok(vec![
        figure("separate lines, 8 CPUs, ns", published.separate_8.0, separate_8.0),
        figure("separate lines, 16 CPUs, ns", published.separate_16.0, separate_16.0),
        figure(
            "lock over separate lines, 16 CPUs",
            published.lock_over_separate_16,
            time(Algorithm::Lock, 16, Sequential)? / separate_16,
        ),
        figure(
            "one line over separate lines, 16 CPUs",
            published.one_line_over_separate_16,
            time(Algorithm::FbsOneLine, 16, Sequential)? / separate_16,
        ),
        figure(
            "binary tree over sequential, 8 CPUs",
            published.binary_tree_over_sequential_8,
            tree / sequential,
        ),
    ])
}

/// The sum of the squared logarithmic errors of the figures, leaving one out.
fn misfit(figures: &[Figure], but_for: Option<usize>) -> f64 {
    let others = figures.iter().enumerate().filter(|(at, _)| Some(*at) != but_for);
    others.map(|(_, figure)| (figure.fitted / figure.published).ln().powi(2)).sum()
}

/// The relative step below which the search stops: smaller ones change figures by less than their rounding.
const FINEST: f64 = 4e-3;

/// Pattern search (Hooke & Jeeves, 1961) on the logarithms of the first `free` parameters: tries a step up and down
/// on each parameter, keeps what is better, and halves the step when nothing is. Nearer tiers stay quicker, and no
/// extra line costs more than a message.
fn search(start: Point, free: usize, error: impl Fn(&Point) -> f64) -> Point {
    let valid = |at: &Point| at[0] <= at[1] && at[1] <= at[2] && at[3] <= 1.0;
    let mut best = (start, error(&start));
    let mut step = 0.5f64;
    while step > FINEST {
        let before = best.1;
        for parameter in 0..free {
            for factor in [step.exp(), (-step).exp()] {
                let mut at = best.0;
                at[parameter] *= factor;
                let error_there = if valid(&at) { error(&at) } else { f64::INFINITY };
                if error_there < best.1 {
                    best = (at, error_there);
                }
            }
        }
        if best.1 >= before {
            step /= 2.0;
        }
    }
    best.0
}
