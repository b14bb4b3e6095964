//! What one-way times the SR11000 must have had for its published barrier times
//! (Nakamura et al., "Fast Barrier Synchronization Mechanism of SR11000 model H1", 2003, section 4.1).

use coho_profile::published::nakamura_fbs;

use super::predict::team;
use super::{Algorithm, ExtraLine, Machine, Mapping, Source, Tier};
use crate::Error;

/// What Nakamura et al. tells of fork and join on one node of 16 CPUs: chips of two that share an L2, modules of eight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// FBS with separate lines at 8 CPUs, in ns.
    pub separate_8_ns: f64,
    /// The same at 16 CPUs, in ns.
    pub separate_16_ns: f64,
    /// Lock variable over separate lines at 16 CPUs.
    pub lock_over_separate_16: f64,
    /// One line over separate lines at 16 CPUs.
    pub one_line_over_separate_16: f64,
    /// Binary-tree mapping's time over that of sequential mapping at 8 CPUs, separate lines.
    pub binary_tree_over_sequential_8: f64,
    /// The mapping of the time at 8 CPUs. The paper does not say which; the binary tree agrees better with its other
    /// figures.
    pub mapping_8: Mapping,
}

impl Published {
    /// The paper's figures.
    pub fn sr11000() -> Self {
        let barrier = nakamura_fbs::figures().barrier;
        let separate_us = barrier.fork_plus_join_us.fbs_separate_lines;
        Self {
            separate_8_ns: 1000.0 * separate_us.of_8,
            separate_16_ns: 1000.0 * separate_us.of_16,
            lock_over_separate_16: barrier.lock_over_separate_16,
            one_line_over_separate_16: barrier.same_line_over_separate_16,
            binary_tree_over_sequential_8: barrier.mapping_speedup_sequential_over_binary_tree_8,
            mapping_8: Mapping::BinaryTree,
        }
    }
}

/// One published figure and what the fitted machine makes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it is.
    pub name: &'static str,
    /// As published.
    pub published: f64,
    /// As predicted.
    pub predicted: f64,
}

impl Figure {
    /// The prediction's error, as a share of the published figure.
    pub fn residual(&self) -> f64 {
        self.predicted / self.published - 1.0
    }
}

/// A machine whose predictions come as near to published figures as the model can.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The machine; its tiers are the chip, the module and the node.
    pub machine: Machine,
    /// One-way times within a chip, within a module and between modules, in ns.
    pub tiers_ns: [f64; 3],
    /// Every published figure.
    pub figures: Vec<Figure>,
}

/// Fits the three one-way times and the extra line's cost, as a share of the one-way time, to published figures.
///
/// Five figures against four parameters: the times and ratios test the model, the one-way times by themselves are
/// hardly tied down beyond what the figures need.
///
/// # Errors
/// If a published figure is not positive.
pub fn fit(published: &Published) -> Result<Fit, Error> {
    let figures = [
        published.separate_8_ns,
        published.separate_16_ns,
        published.lock_over_separate_16,
        published.one_line_over_separate_16,
        published.binary_tree_over_sequential_8,
    ];
    if let Some(wrong) = figures.iter().find(|figure| !figure.is_finite() || **figure <= 0.0) {
        return Err(Error::new(format!("a published figure of {wrong}; times and ratios are positive")));
    }
    let scale = published.separate_16_ns / 16.0;
    let error = |at: &Point| judge(at, published).map_or(f64::INFINITY, |figures| misfit(&figures));
    // From several starts, since the order in which lines are served makes the error uneven.
    let found = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
        .map(|share| search([0.3 * scale, 0.6 * scale, scale, share], error));
    let best = found.into_iter().min_by(|a, b| error(a).total_cmp(&error(b))).expect("there are starts");
    Ok(Fit {
        machine: machine(&best)?,
        tiers_ns: [best[0], best[1], best[2]],
        figures: judge(&best, published)?,
    })
}

/// One-way times within a chip, a module and the node in ns, and the extra line's share.
type Point = [f64; 4];

fn machine(&[chip, module, node, share]: &Point) -> Result<Machine, Error> {
    let tiers = [(2, chip), (8, module), (16, node)].map(|(cpus, ns)| Tier { cpus, ns });
    let mut machine = Machine::hierarchical(&tiers)?;
    let source = || Source::Fitted("published fork and join times of 8 and 16 CPUs".into());
    machine.latency_source = source();
    machine.extra_line = ExtraLine { ns: 0.0, of_latency: share, source: source() };
    Ok(machine)
}

pub(super) fn judge(at: &Point, published: &Published) -> Result<Vec<Figure>, Error> {
    let machine = machine(at)?;
    let time = |algorithm: Algorithm, threads, mapping| -> Result<f64, Error> {
        let program = algorithm.fork_join(threads, &[]).expect("these need no groups");
        Ok(team(&machine, threads, mapping)?.time(&program, f64::INFINITY).expect("it ends"))
    };
    use Mapping::{BinaryTree, Sequential};
    let separate_16 = time(Algorithm::Fbs, 16, Sequential)?;
    let (sequential, tree) = (time(Algorithm::Fbs, 8, Sequential)?, time(Algorithm::Fbs, 8, BinaryTree)?);
    let separate_8 = if published.mapping_8 == Sequential { sequential } else { tree };
    let figure = |name, published, predicted| Figure { name, published, predicted };
    Ok(vec![
        figure("separate lines, 8 CPUs, ns", published.separate_8_ns, separate_8),
        figure("separate lines, 16 CPUs, ns", published.separate_16_ns, separate_16),
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

/// The squares of the figures' logarithmic errors, summed.
fn misfit(figures: &[Figure]) -> f64 {
    figures.iter().map(|figure| (figure.predicted / figure.published).ln().powi(2)).sum()
}

/// Pattern search (Hooke & Jeeves, 1961) on the logarithms: tries a step up and down on each parameter, keeps what is
/// better, and halves the step when nothing is. Nearer tiers stay quicker, and no line costs more than its message.
fn search(start: Point, error: impl Fn(&Point) -> f64) -> Point {
    let valid = |at: &Point| at[0] <= at[1] && at[1] <= at[2] && at[3] <= 1.0;
    let mut best = (start, error(&start));
    let mut step = 0.5f64;
    while step > 1e-3 {
        let before = best.1;
        for parameter in 0..start.len() {
            for factor in [step.exp(), (-step).exp()] {
                let mut at = best.0;
                at[parameter] *= factor;
                let found = if valid(&at) { error(&at) } else { f64::INFINITY };
                if found < best.1 {
                    best = (at, found);
                }
            }
        }
        if best.1 >= before {
            step /= 2.0;
        }
    }
    best.0
}
