//! The article's differences: which of them exceed noise, and which change the simulator attributes them to.

use coho_profile::unixbench::{self, KERNEL_BUILD};
use coho_profile::{Profile, published};
use coho_topology::cpuid;
use coho_topology::freebsd::Variant;

use super::costs::Costs;
use super::machine::Machine;
use super::predict::{Prediction, Range, Sign, predict};
use super::view::{View, freebsd_order};
use super::workload::Workload;
use crate::signs::change;

/// What a factor changes in a test, in two pairs that differ by another factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    /// As in profiles.
    pub test: &'static str,
    /// Logarithms of the ratios, above 0 where the test became quicker.
    pub changes: [f64; 2],
    /// What each contributes to the logarithm of the index, in hundredths; `None` for the kernel build, which is not
    /// part of it.
    pub index_points: Option<[f64; 2]>,
    /// Whether the mean change exceeds noise.
    ///
    /// The tables are a factorial design of two factors without repetition. What one factor does under one setting of
    /// the other, but not under the other setting, counts as noise. A change exceeds it if it is more than twice the
    /// noise of its own test and twice that of its kind of test (root mean square).
    pub beyond_noise: bool,
}

/// Tests with similar noise: one process that computes, processes that the scheduler places, files on a disk.
const KINDS: [&[&str]; 3] = [
    &["dhrystone2", "whetstone_double", "pipe_throughput", "syscall_overhead"],
    &["execl", "pipe_context_switching", "process_creation", "shell_1", "shell_8", KERNEL_BUILD],
    &["file_copy_1024", "file_copy_256", "file_copy_4096"],
];

impl Contrast {
    /// The ratios as changes in per cent.
    pub fn percent(&self) -> [f64; 2] {
        self.changes.map(|change| 100.0 * change.exp_m1())
    }

    fn mean(&self) -> f64 {
        (self.changes[0] + self.changes[1]) / 2.0
    }

    fn noise(&self) -> f64 {
        (self.changes[0] - self.changes[1]).abs() / 2.0
    }

    /// From the stock to the patched kernel, with C6 on and with C6 off; tests in UnixBench's order, the build last.
    pub fn of_topology() -> Vec<Self> {
        Self::all([("c6-on-stock", "c6-on-patched"), ("c6-off-stock", "c6-off-patched")])
    }

    /// From C6 on to C6 off, under the stock kernel and under the patched one.
    pub fn of_c6() -> Vec<Self> {
        Self::all([("c6-on-stock", "c6-off-stock"), ("c6-on-patched", "c6-off-patched")])
    }

    /// From one of the article's tables to another.
    fn all(pairs: [(&str, &str); 2]) -> Vec<Self> {
        let tables = published::paper("kimoto-bulldozer").publication().machines;
        let value = |table: &str, test: &str| {
            let profile = tables.iter().find(|(name, _)| name == table).map(|(_, profile)| profile);
            profile.and_then(|profile| result(profile, test)).unwrap_or(f64::NAN)
        };
        let tests = unixbench::TESTS.iter().map(|test| test.name).chain([KERNEL_BUILD]);
        let contrast = |test: &'static str| {
            let changes = pairs.map(|(before, after)| match test {
                KERNEL_BUILD => (value(before, test) / value(after, test)).ln(),
                test => (value(after, test) / value(before, test)).ln(),
            });
            let points = changes.map(|change| 100.0 * change / unixbench::TESTS.len() as f64);
            let index_points = (test != KERNEL_BUILD).then_some(points);
            Self { test, changes, index_points, beyond_noise: false }
        };
        let mut contrasts: Vec<Self> = tests.map(contrast).collect();
        for kind in KINDS {
            let mine = || contrasts.iter().filter(|contrast| kind.contains(&contrast.test));
            let squares: f64 = mine().map(|contrast| contrast.noise().powi(2)).sum();
            let noise = (squares / mine().count().max(1) as f64).sqrt();
            for contrast in contrasts.iter_mut().filter(|contrast| kind.contains(&contrast.test)) {
                contrast.beyond_noise = contrast.mean().abs() > 2.0 * noise.max(contrast.noise());
            }
        }
        contrasts
    }
}

/// The result of one copy of a test.
fn result(profile: &Profile, test: &str) -> Option<f64> {
    let row = profile.workloads.as_ref()?.results.iter().find(|row| row.test == test)?;
    row.value.as_ref().map(|value| value.median)
}

/// A test as measured and as predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// From the stock to the patched kernel.
    pub measured: Contrast,
    /// The tree alone, without its flag (`kern.smp.topology=5`), over stock.
    pub tree: Range,
    /// The flag on that tree.
    pub flag: Range,
    /// Both together, as in the patch.
    pub both: Range,
}

/// What the simulator can say about a measured change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Beyond noise, and the tree predicts that sign.
    Tree,
    /// Beyond noise, and the flag predicts that sign.
    Flag,
    /// Beyond noise, and both tree and flag predict that sign.
    TreeAndFlag,
    /// Neither measured nor predicted.
    NoChange,
    /// Not measured; the prediction depends on costs that are not known.
    Undecided,
    /// Predicted, but the measured change is within noise.
    WithinNoise,
    /// Beyond noise, but not predicted, or with the other sign.
    NotExplained,
}

impl Verdict {
    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Tree => "sign as by the tree",
            Self::Flag => "sign as by the flag",
            Self::TreeAndFlag => "sign as by tree and flag",
            Self::NoChange => "no change, as predicted",
            Self::Undecided => "within noise; undecided",
            Self::WithinNoise => "predicted; within noise",
            Self::NotExplained => "not explained",
        }
    }
}

impl Finding {
    /// Every test of the article, on its machine, by `runs` runs of the simulator: see [`predict`].
    ///
    /// # Panics
    /// Never: the article's machine is part of the program.
    pub fn all(costs: &Costs, runs: u32, seed: u64) -> Vec<Self> {
        let dump = published::paper("kimoto-bulldozer").cpuid();
        let topology = cpuid::decode(&dump).expect("the built-in dump is decoded");
        let machine = Machine::new(&topology, &freebsd_order(&topology), None);
        let views = [("stock", Variant::Stock), ("control", Variant::Control), ("patched", Variant::Patched)]
            .map(|(name, variant)| View::new(name, variant, &topology, Some(&dump)).expect("four CPUs"));
        let mut workloads: Vec<Workload> = Vec::new();
        let predictions: Vec<Prediction> = Contrast::of_topology()
            .iter()
            .map(|contrast| Workload::of_test(contrast.test))
            .filter(|workload| {
                let new = !workloads.contains(workload);
                workloads.push(*workload);
                new
            })
            .flat_map(|workload| predict(&machine, &views, workload, costs, runs, seed))
            .collect();
        Self::of(&predictions)
    }

    /// The tests of the article whose workloads were predicted on its machine under `stock`, `control` and `patched`.
    pub fn of(predictions: &[Prediction]) -> Vec<Self> {
        let find = |workload: Workload, view: &str| {
            predictions.iter().find(|prediction| prediction.workload == workload && prediction.view == view)
        };
        let finding = |measured: Contrast| {
            let workload = Workload::of_test(measured.test);
            let (stock, control) = (find(workload, "stock")?, find(workload, "control")?);
            let patched = find(workload, "patched")?;
            let (tree, flag) = (control.over(stock)?, patched.over(control)?);
            Some(Self { measured, tree, flag, both: patched.over(stock)? })
        };
        Contrast::of_topology().into_iter().filter_map(finding).collect()
    }

    /// The direction of the measured change, if it exceeds noise.
    pub fn measured_sign(&self) -> Sign {
        match () {
            () if !self.measured.beyond_noise => Sign::None,
            () if self.measured.mean() > 0.0 => Sign::Up,
            () => Sign::Down,
        }
    }

    /// Whether the predicted change, its median over all runs, lies between the measured ones of the two pairs;
    /// `None` where no change beyond noise was measured.
    pub fn size_holds(&self) -> Option<bool> {
        let [a, b] = self.measured.percent();
        let predicted = 100.0 * (self.both.median - 1.0);
        self.measured.beyond_noise.then_some((a.min(b)..=a.max(b)).contains(&predicted))
    }

    /// A sentence on how the predicted size compares with the measured one, where their signs agree.
    pub fn size(&self) -> Option<String> {
        if !matches!(self.verdict(), Verdict::Tree | Verdict::Flag | Verdict::TreeAndFlag) {
            return None;
        }
        let percent = |percent: f64| format!("{} %", change(percent, 1));
        let [on, off] = self.measured.percent().map(percent);
        let predicted = 100.0 * (self.both.median - 1.0);
        let holds =
            if self.size_holds()? { "sign and size agree" } else { "the sign agrees, the size does not" };
        Some(format!(
            "{}: {} % predicted, {on} and {off} published: {holds}.",
            self.measured.test,
            change(predicted, 0)
        ))
    }

    /// How the prediction relates to the measurement.
    pub fn verdict(&self) -> Verdict {
        let (measured, predicted) = (self.measured_sign(), self.both.sign());
        let decided = matches!(predicted, Sign::Up | Sign::Down);
        match measured {
            Sign::None if decided => Verdict::WithinNoise,
            Sign::None if predicted == Sign::Unsure => Verdict::Undecided,
            Sign::None => Verdict::NoChange,
            measured if measured != predicted => Verdict::NotExplained,
            measured => match (self.tree.sign() == measured, self.flag.sign() == measured) {
                (true, false) => Verdict::Tree,
                (false, true) => Verdict::Flag,
                _ => Verdict::TreeAndFlag,
            },
        }
    }
}
