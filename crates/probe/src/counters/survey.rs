//! A run: what is opened, in which order it is measured, and the results.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use coho_counters::tables::Candidate;
use coho_counters::{Column, Method as Reading, Mode, Price};
use coho_platform::stolen;
use coho_profile::{CounterTool, Counters, Counts, Estimate, Rdpmc};
use coho_topology::CpuSet;
use serde_json::Value;

use super::tools::{self, Open, Tool};
use super::{Options, clock, counts, events};
use crate::clock::Clock;
use crate::frame::{End, Frame, Phase, Progress};
use crate::statistics;

/// A batch is at least this long, so that the clock's step does not matter.
const BATCH: Duration = Duration::from_micros(20);
/// Batches of a visit, after one that only warms up.
const BATCHES: usize = 16;
/// The most repetitions in a batch; no operation is so quick that it needs more.
const MOST_TIMES: u64 = 4096;

/// A tool's row while it is measured.
struct Row {
    tool: CounterTool,
    open: Result<Open, String>,
    /// Repetitions in a batch.
    times: u64,
    passes: Vec<Vec<f64>>,
}

/// The prices of the instructions, one sample a pass.
#[derive(Default)]
struct Prices {
    rdpmc: Vec<Vec<f64>>,
    with_instructions: Vec<Vec<f64>>,
    cpuid: Vec<Vec<f64>>,
    empty: Vec<Vec<f64>>,
    last: Option<Price>,
}

/// Runs on the calling thread, which is pinned to `cpu`, in a process that may use the CPUs `allowed`.
pub(super) fn run(
    cpu: u32,
    allowed: &CpuSet,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Counters {
    let mut frame = Frame::bare(&options.course.moved([cpu]), progress);
    let switches = stolen::involuntary_switches();
    let mut tools = tools::all(cpu);
    let mut phase = Phase::new("single steps", tools.len() as u64);
    let mut stepped = Vec::new();
    for tool in &mut tools {
        stepped.push(follow(tool, frame.end()));
        frame.advance(&mut phase, 1);
    }
    let mut rows: Vec<Row> =
        tools.into_iter().zip(stepped).map(|(tool, steps)| Row::open(tool, steps)).collect();

    let mut phase = Phase::new("events", 1 + rows.len() as u64);
    frame.advance(&mut phase, 0);
    let (chosen, tests) = if frame.end().has_come() {
        Default::default()
    } else {
        events::choose(&mut frame.method.not_available)
    };
    frame.advance(&mut phase, 1);
    count(&mut rows, &chosen, &mut frame, &mut phase);

    let mut prices = Prices::default();
    time(&mut rows, &mut prices, if options.quick { 8 } else { 24 }, &mut frame);
    let clock = (!frame.end().has_come()).then(|| clock::facts(allowed, &mut frame.method.not_available));

    let event_by_tool: serde_json::Map<String, Value> = rows
        .iter()
        .filter_map(|row| Some((row.tool.name.clone(), row.open.as_ref().ok()?.event.clone().into())))
        .collect();
    frame.parameter("cpu", cpu);
    frame.parameter("batch_us", BATCH.as_micros() as u64);
    frame.parameter("batches_per_pass", BATCHES);
    frame.parameter("event_by_tool", event_by_tool);
    frame.method.involuntary_switches = stolen::involuntary_switches() - switches;
    Counters {
        method: frame.finish(DESCRIPTION),
        tools: rows.into_iter().map(Row::finish).collect(),
        rdpmc: prices.rdpmc(),
        events: tests,
        cpuid_ns: statistics::estimate(&prices.cpuid),
        empty_ns: statistics::estimate(&prices.empty),
        clock,
        unknown: BTreeMap::new(),
    }
}

const DESCRIPTION: &str = "Each operation in batches, all operations in random order in every pass. Instructions of user mode \
    and kernel entries by single steps, those of user-level reads on a page that stands in for the kernel's; other events \
    by a counter that runs all the while and is read by the kernel at the ends.";

/// Single steps of a tool's operation, in a copy of the process.
fn follow(tool: &mut Tool, end: &End) -> Result<counts::Stepped, String> {
    if end.has_come() {
        return Err("stopped before".into());
    }
    let step = tool.step.as_mut().map_err(|why| why.clone())?;
    counts::by_steps(step).map_err(|error| error.to_string())
}

impl Row {
    fn open(tool: Tool, steps: Result<counts::Stepped, String>) -> Self {
        let mut row = CounterTool { name: tool.name.into(), ..CounterTool::default() };
        let open = (tool.open)();
        let mut reasons = Vec::new();
        if let Err(why) = &open {
            reasons.push(if steps.is_ok() { format!("time: {why}") } else { why.clone() });
        }
        match steps {
            Ok(steps) => {
                row.user.INS = Some(Estimate::exact(steps.instructions as f64));
                row.kernel_entries = Some(steps.kernel_entries as f64);
                if steps.kernel_entries == 0 {
                    row.kernel.INS = Some(Estimate::exact(0.0));
                }
            }
            Err(why) if !reasons.contains(&why) => reasons.push(format!("single steps: {why}")),
            Err(_) => {}
        }
        row.not_available = (!reasons.is_empty()).then(|| reasons.join("; "));
        Self { tool: row, open, times: 1, passes: Vec::new() }
    }

    /// Batches of one visit, in ns an operation.
    fn visit(&mut self, clock: &Clock) {
        let Ok(open) = &mut self.open else { return };
        let mut batch = |times| {
            let start = clock.now();
            (open.run)(times);
            clock.ns(clock.now() - start)
        };
        if self.passes.is_empty() {
            let long = BATCH.as_nanos() as f64;
            while self.times < MOST_TIMES && batch(self.times) < long {
                self.times *= 2;
            }
        }
        batch(self.times);
        let times = self.times;
        self.passes.push((0..BATCHES).map(|_| batch(times) / times as f64).collect());
    }

    fn finish(mut self) -> CounterTool {
        self.tool.ns = statistics::estimate(&self.passes);
        self.tool
    }
}

/// Counts each operation's events on both sides.
fn count(rows: &mut [Row], events: &BTreeMap<Column, Candidate>, frame: &mut Frame<'_>, phase: &mut Phase) {
    if events.is_empty() {
        let why = "no event of this machine counts what it must; the events' tests say why";
        frame.lacks("events of an operation", why);
        return;
    }
    for row in rows {
        frame.advance(phase, 1);
        let Ok(open) = &mut row.open else { continue };
        let sides =
            [("user", Mode::User, &mut row.tool.user), ("kernel", Mode::Kernel, &mut row.tool.kernel)];
        for (side, mode, counts) in sides {
            if frame.end().has_come() {
                return;
            }
            match counts::by_counters(&mut open.run, mode, events) {
                Ok(counted) => {
                    let stepped = std::mem::take(counts);
                    *counts = Counts { INS: counted.INS.or(stepped.INS), ..counted };
                }
                Err(error) => {
                    frame.lacks(format!("{side} events of {}", row.tool.name), error.to_string());
                }
            }
        }
    }
}

/// Passes over all rows and prices, each in a random order of its own.
fn time(rows: &mut [Row], prices: &mut Prices, passes: usize, frame: &mut Frame<'_>) {
    let clock = Clock::get();
    let mut things: Vec<Option<&mut Row>> = rows.iter_mut().map(Some).chain([None]).collect();
    let Ok(()) = frame.visit_all("passes", passes, &mut things, |_, thing, _| {
        match thing {
            Some(row) => row.visit(&clock),
            None => prices.add(Price::measure()),
        }
        Ok::<_, Infallible>(())
    });
}

impl Prices {
    fn add(&mut self, price: Price) {
        self.rdpmc.extend(price.rdpmc_ns.as_ref().ok().map(|&ns| vec![ns]));
        self.with_instructions.extend(price.rdpmc_with_instructions_ns.as_ref().ok().map(|&ns| vec![ns]));
        self.cpuid.extend(price.cpuid_ns.map(|ns| vec![ns]));
        self.empty.push(vec![price.empty_ns]);
        self.last = Some(price);
    }

    fn rdpmc(&self) -> Rdpmc {
        let Some(price) = &self.last else {
            return Rdpmc { note: Some("stopped before it was tried".into()), ..Rdpmc::default() };
        };
        let note = match (&price.rdpmc_ns, price.method()) {
            (Err(why), _) => why.to_string(),
            (_, Some(Reading::BracketFree)) => {
                "each use is an exit to the hypervisor, which leaves the caches cold: calls are counted many at a time, \
                 without a read between"
                    .into()
            }
            _ => "each call can be counted between two reads".into(),
        };
        Rdpmc {
            available: price.rdpmc_ns.is_ok(),
            trapped: price.trapped,
            ns: statistics::estimate(&self.rdpmc),
            ns_with_instructions: statistics::estimate(&self.with_instructions),
            note: Some(note),
        }
    }
}
