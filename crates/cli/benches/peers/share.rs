//! What padding really saves programs whose threads share lines, beside what `coho share` says of them unpadded.

mod programs;

use coho_model::share::control_that_loses;
use coho_platform::load::Busy;
use coho_platform::room::Room;
use coho_probe::placement::{self, Placement};
use coho_probe::statistics;
use coho_profile::{Estimate, Share};
use coho_run::{Job, Output, Signals, Status};

use crate::section;
use programs::{CASES, Case, NOT_REBUILT, Pair, build};

/// User CPU time of one run in seconds: as much as the kernel's clock ticks and what a start costs do not show in.
const RUN_S: f64 = 1.0;
const QUICK_RUN_S: f64 = 0.5;
/// Rounds of a plain and a padded run, half of them before coho's own runs and half after.
const ROUNDS: usize = 12;
const QUICK_ROUNDS: usize = 6;
/// Points of the CPU time by which coho's total may miss what padding saves.
const GOAL: f64 = 0.05;
const COHO: &str = env!("CARGO_BIN_EXE_coho");

/// Prints the table.
pub fn run(quick: bool) {
    println!("What padding saves, and what coho share says without it, in % of the CPU time; 2 threads");
    match Bench::new(quick) {
        Ok(bench) => bench.table(),
        Err(why) => println!("  not available: {why}"),
    }
    println!();
}

struct Bench {
    /// Two CPUs, of different cores if there are.
    cpus: String,
    signals: Signals,
    run_s: f64,
    rounds: usize,
}

/// What was measured of a program.
struct Row {
    saved: Estimate,
    plain: Share,
    padded: Share,
}

impl Bench {
    fn new(quick: bool) -> Result<Self, String> {
        let topology = coho_topology::detect().map_err(|error| error.to_string())?;
        let room = Room::here(&topology.cpus()).map_err(|error| error.to_string())?;
        let chosen = placement::choose(&Placement::Spread, None, &topology, &room, &Busy::default());
        let order = chosen.map_err(|error| error.to_string())?.order;
        let [first, second, ..] = order[..] else { return Err("it takes two CPUs".into()) };
        let signals = Signals::hold().map_err(|error| error.to_string())?;
        let (run_s, rounds) = if quick { (QUICK_RUN_S, QUICK_ROUNDS) } else { (RUN_S, ROUNDS) };
        Ok(Self { cpus: format!("{first},{second}"), signals, run_s, rounds })
    }

    fn table(&self) {
        println!(
            "  {:<24} {:<16} {:<16} {:>6}  {:<22} {:<16} padded",
            "program", "padding saves", "coho's total", "apart", "its line", "the line's cost"
        );
        let (mut told, mut near, mut found, mut rows) = (0, 0, 0, 0);
        for case in CASES {
            match build(case).and_then(|pair| self.measure(case, &pair)) {
                Ok(row) => {
                    rows += 1;
                    if let Some(total) = &row.plain.total.share_of_cpu_time {
                        told += 1;
                        near += usize::from((total.median - row.saved.median).abs() <= GOAL);
                    }
                    found += usize::from(row.line(case).is_some());
                    row.print(case);
                }
                Err(why) => println!("  {:<24} not available: {why}", case.name),
            }
            if self.signals.asked_to_end().is_some() {
                return;
            }
        }
        println!(
            "  {rows} programs: {told} totals told, {near} of them within {:.0} points; {found} lines found",
            100.0 * GOAL
        );
        println!("  Public fixes that were not rebuilt, as their layouts are not known here: {NOT_REBUILT}");
    }

    fn measure(&self, case: &Case, pair: &Pair) -> Result<Row, String> {
        let repeats = self.repeats(&pair.plain)?;
        let mut saved = Vec::new();
        self.rounds(pair, &repeats, &mut saved)?;
        let plain = self.share(&pair.plain, &repeats)?;
        let padded = self.share(&pair.padded, &repeats)?;
        self.rounds(pair, &repeats, &mut saved)?;
        let saved = statistics::estimate(&[saved]).ok_or_else(|| format!("{} has no rounds", case.name))?;
        Ok(Row { saved, plain, padded })
    }

    /// As many as take about the wanted time.
    fn repeats(&self, program: &[String]) -> Result<String, String> {
        let mut repeats = 1000.0;
        loop {
            let took = self.user_s(program, &format!("{repeats:.0}"))?;
            if took >= self.run_s / 4.0 {
                return Ok(format!("{:.0}", repeats * self.run_s / took));
            }
            repeats *= (self.run_s / 2.0 / took.max(0.005)).clamp(2.0, 50.0);
        }
    }

    /// Half of the rounds.
    fn rounds(&self, pair: &Pair, repeats: &str, saved: &mut Vec<f64>) -> Result<(), String> {
        for _ in 0..self.rounds / 2 {
            let plain_first = fastrand::bool();
            let mut took = [0.0; 2];
            for at in if plain_first { [0, 1] } else { [1, 0] } {
                took[at] = self.user_s([&pair.plain, &pair.padded][at], repeats)?;
            }
            saved.push(1.0 - took[1] / took[0]);
        }
        Ok(())
    }

    /// The CPU time that a run takes in user mode, its threads on the two CPUs.
    fn user_s(&self, program: &[String], repeats: &str) -> Result<f64, String> {
        let words = [COHO, "run", "--place", &self.cpus, "--per-thread", "--quiet", "--"];
        let words = words.into_iter().chain(program.iter().map(String::as_str)).chain([repeats]);
        let job = Job { command: words.map(Into::into).collect(), output: Output::Nowhere, ..Job::default() };
        let running = job.start(&self.signals).map_err(|error| error.to_string())?;
        let ended = running.wait(&self.signals).map_err(|error| error.to_string())?;
        match ended.status {
            Status::Exited(0) => Ok(ended.usage.user.as_secs_f64()),
            status => Err(format!("{} ended with {}", program[0], status.exit_status())),
        }
    }

    fn share(&self, program: &[String], repeats: &str) -> Result<Share, String> {
        let mut command = section::coho(&["share", "--cpus", &self.cpus]);
        let value = section::read(command.arg("--").args(program).arg(repeats))?;
        serde_json::from_value(value).map_err(|error| error.to_string())
    }
}

impl Row {
    /// The expected one.
    fn line(&self, case: &Case) -> Option<&coho_profile::ShareLine> {
        self.plain.lines.iter().flatten().find(|line| line.object.contains(case.object))
    }

    fn print(&self, case: &Case) {
        let total = self.plain.total.share_of_cpu_time.as_ref();
        let apart = total.map(|total| format!("{:+.0}", 100.0 * (total.median - self.saved.median)));
        let line = self.line(case);
        let what = line.map_or_else(
            || "not found".into(),
            |line| format!("{}, {}", short(&line.object), line.kind.name()),
        );
        let cost = line.and_then(|line| line.cost_share.as_ref());
        let lines = match &self.padded.lines {
            Some(lines) if lines.is_empty() => "none".into(),
            Some(lines) => format!("{} LINES: {}", lines.len(), lines[0].object),
            None => "not known".into(),
        };
        println!(
            "  {:<24} {:<16} {:<16} {:>6}  {what:<22} {:<16} {lines}",
            case.name,
            percent(Some(&self.saved)),
            percent(total),
            apart.unwrap_or_default(),
            percent(cost),
        );
        if let Some(why) = &self.plain.total.why_not {
            println!("  {:<24}   {why}", "");
        }
        if let Some(control) = control_that_loses(&self.plain.total) {
            println!("  {:<24}   a loop that shares nothing loses {}", "", percent(Some(control)));
        }
    }
}

fn short(object: &str) -> &str {
    object.strip_prefix("global ").unwrap_or(object).split(" at ").next().unwrap_or(object)
}

/// `31 (28–34)`.
fn percent(share: Option<&Estimate>) -> String {
    let of = |share: f64| format!("{:.0}", 100.0 * share + 0.0);
    share.map_or_else(
        || "withheld".into(),
        |share| format!("{} ({} to {})", of(share.median), of(share.low), of(share.high)),
    )
}
