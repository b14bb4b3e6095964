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
/// Rounds of a plain run, a padded one and one on one CPU, in random order; half of them before coho's own runs and half
/// after.
const ROUNDS: usize = 30;
const QUICK_ROUNDS: usize = 10;
/// Points of the CPU time by which what one CPU saves, and coho's total, may miss what padding saves.
const GOAL: f64 = 0.05;
/// Rounds of coho that are enough for lines, though not for what they cost.
const ROUNDS_FOR_LINES: &[&str] = &["--repeat", "4"];
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
    /// The first of them.
    first: String,
    signals: Signals,
    run_s: f64,
    rounds: usize,
}

/// What was measured of a program.
struct Row {
    saved: Estimate,
    /// What one CPU saves, in the same rounds as padding.
    one_cpu: Estimate,
    /// The second less the first, round by round.
    apart: Estimate,
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
        let (cpus, first) = (format!("{first},{second}"), first.to_string());
        Ok(Self { cpus, first, signals, run_s, rounds })
    }

    fn table(&self) {
        println!(
            "  {:<25} {:<16} {:<16} {:<16} {:<16} {:<18} {:<16} padded",
            "program",
            "padding saves",
            "one CPU saves",
            "apart",
            "coho's total",
            "its line",
            "the line's cost"
        );
        let (mut rows, mut near, mut told, mut total_near, mut found) = (0, 0, 0, 0, 0);
        for case in CASES {
            match build(case).and_then(|pair| self.measure(&pair)) {
                Ok(row) => {
                    rows += 1;
                    near += usize::from(row.apart.median.abs() <= GOAL);
                    if let Some(total) = &row.plain.total.share_of_cpu_time {
                        told += 1;
                        total_near += usize::from((total.median - row.saved.median).abs() <= GOAL);
                    }
                    found += usize::from(row.line(case).is_some());
                    row.print(case);
                }
                Err(why) => println!("  {:<25} not available: {why}", case.name),
            }
            if self.signals.asked_to_end().is_some() {
                return;
            }
        }
        let goal = 100.0 * GOAL;
        println!("  Of {rows} programs, one CPU saves what padding does within {goal:.0} points in {near};");
        println!(
            "  coho tells a total in {told}, within {goal:.0} points of it in {total_near}; {found} lines are found"
        );
        println!("  Public fixes that were not rebuilt, as their layouts are not known here: {NOT_REBUILT}");
    }

    fn measure(&self, pair: &Pair) -> Result<Row, String> {
        let repeats = self.repeats(pair)?;
        let mut took = Vec::new();
        self.rounds(pair, &repeats, &mut took)?;
        let plain = self.share(&pair.plain, &repeats, &[])?;
        let padded = self.share(&pair.padded, &repeats, ROUNDS_FOR_LINES)?;
        self.rounds(pair, &repeats, &mut took)?;
        let of = |value: fn(&[f64; 3]) -> f64| {
            statistics::estimate(&[took.iter().map(value).collect()]).ok_or("no round was finished")
        };
        Ok(Row {
            saved: of(|[plain, padded, _]| 1.0 - padded / plain)?,
            one_cpu: of(|[plain, _, one]| 1.0 - one / plain)?,
            apart: of(|[plain, padded, one]| (padded - one) / plain)?,
            plain,
            padded,
        })
    }

    /// As many as take about the wanted time.
    fn repeats(&self, pair: &Pair) -> Result<String, String> {
        let mut repeats = 1000.0;
        loop {
            let took = self.user_s(&pair.plain, &format!("{repeats:.0}"), &self.cpus, pair.is_preloaded)?;
            if took >= self.run_s / 4.0 {
                return Ok(format!("{:.0}", repeats * self.run_s / took));
            }
            repeats *= (self.run_s / 2.0 / took.max(0.005)).clamp(2.0, 50.0);
        }
    }

    /// Runs half of the rounds. A round gives the seconds of a plain run, of a padded one, and of a plain one on one CPU.
    fn rounds(&self, pair: &Pair, repeats: &str, took: &mut Vec<[f64; 3]>) -> Result<(), String> {
        for _ in 0..self.rounds / 2 {
            let mut order = [0, 1, 2];
            fastrand::shuffle(&mut order);
            let mut round = [0.0; 3];
            for at in order {
                let program = if at == 1 { &pair.padded } else { &pair.plain };
                let cpus = if at == 2 { &self.first } else { &self.cpus };
                round[at] = self.user_s(program, repeats, cpus, pair.is_preloaded)?;
            }
            took.push(round);
        }
        Ok(())
    }

    /// Runs a program on these CPUs and returns its CPU time in user mode, in seconds. If a library can be preloaded, it
    /// moves each thread to the next CPU.
    fn user_s(&self, program: &[String], repeats: &str, cpus: &str, per_thread: bool) -> Result<f64, String> {
        let words = [COHO, "run", "--quiet", "--place", cpus].into_iter();
        let words = words.chain(per_thread.then_some("--per-thread")).chain(["--"]);
        let words = words.chain(program.iter().map(String::as_str)).chain([repeats]);
        let job = Job { command: words.map(Into::into).collect(), output: Output::Nowhere, ..Job::default() };
        let running = job.start(&self.signals).map_err(|error| error.to_string())?;
        let ended = running.wait(&self.signals).map_err(|error| error.to_string())?;
        match ended.status {
            Status::Exited(0) => Ok(ended.usage.user.as_secs_f64()),
            status => Err(format!("{} ended with {}", program[0], status.exit_status())),
        }
    }

    fn share(&self, program: &[String], repeats: &str, rounds: &[&str]) -> Result<Share, String> {
        let mut command = section::coho(&["share", "--cpus", &self.cpus]);
        let value = section::read(command.args(rounds).arg("--").args(program).arg(repeats))?;
        serde_json::from_value(value).map_err(|error| error.to_string())
    }
}

impl Row {
    /// The expected one.
    fn line(&self, case: &Case) -> Option<&coho_profile::ShareLine> {
        self.plain.lines.iter().flatten().find(|line| line.object.contains(case.object))
    }

    fn print(&self, case: &Case) {
        let line = self.line(case);
        let what = line.map_or_else(
            || "not found".into(),
            |line| format!("{}, {}", short(&line.object), line.kind.name()),
        );
        let lines = match &self.padded.lines {
            Some(lines) if lines.is_empty() => "none".into(),
            Some(lines) => lines
                .iter()
                .map(|line| format!("{}, {}", short(&line.object), line.kind.name()))
                .collect::<Vec<_>>()
                .join("; "),
            None => "not known".into(),
        };
        println!(
            "  {:<25} {:<16} {:<16} {:<16} {:<16} {what:<18} {:<16} {lines}",
            case.name,
            percent(Some(&self.saved)),
            percent(Some(&self.one_cpu)),
            percent(Some(&self.apart)),
            percent(self.plain.total.share_of_cpu_time.as_ref()),
            percent(line.and_then(|line| line.cost_share.as_ref())),
        );
        if let Some(why) = &self.plain.total.why_not {
            println!("  {:<25}   {why}", "");
        }
        if let Some(control) = control_that_loses(&self.plain.total) {
            println!("  {:<25}   a loop that shares nothing loses {}", "", percent(Some(control)));
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
