//! Commands run in turn and compared within the turn.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use coho_model::chance::Family;

/// Seconds that a command took, or why it could not run.
pub fn seconds(words: &[&str]) -> Result<f64, String> {
    let begin = Instant::now();
    let status =
        Command::new(words[0]).args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let taken = begin.elapsed().as_secs_f64();
    match status {
        Ok(status) if status.success() => Ok(taken),
        Ok(status) => Err(format!("{} ended with {status}", words[0])),
        Err(error) => Err(format!("{}: {error}", words[0])),
    }
}

/// Runs the commands in turn, `rounds` times; the seconds of each, or why it could not run.
pub fn in_turn(commands: &[&[&str]], rounds: usize) -> Vec<Result<Vec<f64>, String>> {
    let mut all: Vec<Result<Vec<f64>, String>> = vec![Ok(Vec::new()); commands.len()];
    for _ in 0..rounds {
        for (command, taken) in commands.iter().zip(&mut all) {
            let Ok(so_far) = taken else { continue };
            match seconds(command) {
                Ok(seconds) => so_far.push(seconds),
                Err(why) => *taken = Err(why),
            }
        }
    }
    all
}

/// The median.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// From where to where the middle half of the values lies.
pub fn middle_half(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[sorted.len() / 4], sorted[(3 * sorted.len() / 4).min(sorted.len() - 1)])
}

/// The ratios of two commands within each turn.
pub fn ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect()
}

/// `0.56`, the median of ratios within turns, and `1.02=` where they do not tell it from 1 beyond chance, one of so many
/// in its table.
pub fn ratio(ratios: &[f64], of: usize) -> String {
    let differs = Family::of(of).rounds(ratios, &vec![1.0; ratios.len()]).differs();
    format!("{:.2}{}", median(ratios), mark(differs))
}

/// What stands behind a ratio that the turns do not tell from 1.
pub fn mark(differs: bool) -> &'static str {
    if differs { "" } else { "=" }
}

/// Processes that keep every CPU busy until dropped.
pub struct Busy(Vec<Child>);

impl Busy {
    /// One busy loop pinned on each of `cpus`.
    pub fn on(cpus: &[u32]) -> Self {
        let spin = |cpu: &u32| {
            let words = ["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"].map(str::to_owned);
            Command::new("taskset").args(words).spawn().expect("taskset runs (util-linux)")
        };
        Self(cpus.iter().map(spin).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The CPUs that this process may use.
pub fn allowed_cpus() -> Vec<u32> {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let list =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("Linux tells it");
    list.parse::<coho_topology::CpuSet>().expect("a CPU list").iter().collect()
}
