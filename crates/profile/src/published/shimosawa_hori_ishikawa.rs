//! Paper 2: what system, libc and MPI calls cost and evict, by counters read in user mode.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Paper, Publication};
use crate::{
    CacheState, Call, CallMethod, Calls, CounterTool, Counters, Counts, Estimate, Host, Method, Profile,
    Rdpmc, Side,
};

/// Authors, title and year.
pub const PAPER: Paper = Paper {
    name: "shimosawa-hori-ishikawa",
    authors: "Shimosawa, Hori & Ishikawa",
    all_authors: "T. Shimosawa, A. Hori, Y. Ishikawa",
    title: "Towards a Cache-aware Operating System in Many-core Architecture",
    year: "about 2011",
    publication: || figures().publication(),
};

/// What the paper printed: events per call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Figures {
    /// Authors and title.
    pub source: String,
    /// How it was measured.
    pub method: PaperMethod,
    /// Table 4: start and stop of the counters with nothing between them, by tool.
    pub counter_overhead: Overhead,
    /// Table 5: system calls, events in the kernel. "Warm" always means the call right after a cold one.
    pub syscalls: Table,
    /// Table 6: functions of the C library, by name and side.
    pub libc: Table,
    /// Table 7: MPI functions, by name and side.
    pub mpi: Table,
    /// What the paper concludes.
    pub findings: Findings,
}

/// The paper's machine and parameters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct PaperMethod {
    pub cpu: String,
    pub kernel: String,
    pub line_bytes: u64,
    pub repetitions: u64,
    pub clear_i_cache: String,
    pub clear_d_cache: String,
    pub filesystem: String,
    pub printf_format: String,
    pub mpi: String,
    pub counters_at_once: u64,
    /// The vendor's event for each column.
    pub events: BTreeMap<String, String>,
}

/// Table 4 by tool; STALL is in cycles here.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Overhead {
    pub user: BTreeMap<String, Events>,
    pub kernel: BTreeMap<String, Events>,
}

/// A table by state of the caches; STALL is a share of the cycles here.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Table {
    pub cold: BTreeMap<String, Events>,
    pub warm: BTreeMap<String, Events>,
}

/// A row: the columns' names are the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[allow(missing_docs, non_snake_case)]
pub struct Events {
    pub L1DR: f64,
    pub L1DM: Option<f64>,
    pub L1IM: Option<f64>,
    pub L2M: f64,
    pub L3M: f64,
    pub STALL: f64,
    pub CPI: Option<f64>,
    pub CYCLE: f64,
    pub INS: Option<f64>,
}

/// Conclusions in figures. The paper's KiB for the C library's functions are 1000 bytes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Findings {
    pub kernel_entry_footprint_kib: f64,
    pub vfs_call_footprint_kib: f64,
    pub sprintf_footprint_kib: f64,
    pub fprintf_footprint_kib: f64,
    pub write_warm_over_cold_cycles: f64,
    pub write_warm_over_cold_cpi: f64,
    pub libc_warm_over_cold_cycles: f64,
    /// From the smallest to the largest.
    pub mpi_warm_over_cold_cycles: [f64; 2],
}

/// Rows in the paper's order.
const ORDER: [&str; 15] = [
    "user-level tool",
    "kernel-level tool (perf_event_open only)",
    "PAPI",
    "getpid",
    "gettimeofday",
    "stat",
    "open",
    "write",
    "close",
    "fprintf",
    "sprintf",
    "MPI_Send",
    "MPI_Recv",
    "MPI_Isend",
    "MPI_Irecv",
];

fn place(name: &str) -> usize {
    ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len())
}

/// The paper's figures.
///
/// ```
/// let paper = coho_profile::published::shimosawa_hori_ishikawa::figures();
/// assert_eq!(paper.syscalls.cold["write"].L2M, 405.0);
/// ```
///
/// # Panics
/// Never: the file is part of the program and read by a test.
pub fn figures() -> Figures {
    toml::from_str(include_str!("shimosawa_hori_ishikawa.toml"))
        .expect("the built-in figures are well formed")
}

impl Figures {
    /// The figures as a profile of the paper's one machine.
    pub fn publication(&self) -> Publication {
        let host = Host {
            cpu: Some(self.method.cpu.clone()),
            architecture: Some("x86_64".into()),
            kernel: Some(self.method.kernel.clone()),
            clock_ghz: self.clock_ghz(),
            boost: Some(false),
            ..Host::default()
        };
        let profile = Profile {
            host: Some(host),
            counters: Some(self.counters()),
            calls: Some(self.calls()),
            ..Profile::default()
        };
        Publication { paper: PAPER, machines: vec![("x5550".into(), profile)] }
    }

    /// `2.67` from `Xeon X5550 2.67 GHz, …`.
    fn clock_ghz(&self) -> Option<f64> {
        let before = self.method.cpu.split(" GHz").next()?;
        before.split_whitespace().next_back()?.parse().ok()
    }

    fn paper_method(&self, what: &str) -> Method {
        let method = &self.method;
        Method {
            description: format!("{}; {what}", self.source),
            parameters: BTreeMap::from([
                ("repetitions".to_owned(), method.repetitions.into()),
                ("counters_at_once".to_owned(), method.counters_at_once.into()),
                ("clear_i_cache".to_owned(), method.clear_i_cache.clone().into()),
                ("clear_d_cache".to_owned(), method.clear_d_cache.clone().into()),
                ("filesystem".to_owned(), method.filesystem.clone().into()),
                ("printf_format".to_owned(), method.printf_format.clone().into()),
                ("mpi".to_owned(), method.mpi.clone().into()),
                ("line_bytes".to_owned(), method.line_bytes.into()),
            ]),
            ..Method::default()
        }
    }

    fn counters(&self) -> Counters {
        let overhead = &self.counter_overhead;
        let tool = |(name, user): (&String, &Events)| CounterTool {
            name: name.clone(),
            user: user.of_table_4(),
            kernel: overhead.kernel.get(name).map(Events::of_table_4).unwrap_or_default(),
            ..CounterTool::default()
        };
        let mut tools: Vec<CounterTool> = overhead.user.iter().map(tool).collect();
        tools.sort_by_key(|tool| place(&tool.name));
        let note = "allowed by a kernel module that sets CR4.PCE";
        Counters {
            method: self.paper_method("Table 4: nothing between start and stop"),
            tools,
            rdpmc: Rdpmc {
                available: true,
                trapped: Some(false),
                note: Some(note.into()),
                ..Rdpmc::default()
            },
            ..Counters::default()
        }
    }

    fn calls(&self) -> Calls {
        let sets = [("syscalls", &self.syscalls), ("libc", &self.libc), ("mpi", &self.mpi)];
        let mut calls: Vec<Call> = Vec::new();
        for (set, table) in sets {
            for (state, rows) in [(CacheState::Cold, &table.cold), (CacheState::Second, &table.warm)] {
                calls.extend(rows.iter().map(|(row, events)| events.call(set, state, row)));
            }
        }
        calls.sort_by_key(|call| (place(&call.name), call.state, call.side));
        Calls {
            method: CallMethod::Pmu,
            conditions: self.paper_method("Tables 5 to 7: events per call"),
            calls,
            ..Calls::default()
        }
    }
}

impl Events {
    fn counts(&self, stall: Option<f64>) -> Counts {
        let exact = |value: Option<f64>| value.map(Estimate::exact);
        Counts {
            L1DR: exact(Some(self.L1DR)),
            L1DM: exact(self.L1DM),
            L1IM: exact(self.L1IM),
            L2M: exact(Some(self.L2M)),
            L3M: exact(Some(self.L3M)),
            INS: exact(self.INS),
            CYCLE: exact(Some(self.CYCLE)),
            STALL: exact(stall),
        }
    }

    /// Table 4 prints the cycles in which nothing was executed. With no cycles at all there is no share.
    fn of_table_4(&self) -> Counts {
        self.counts((self.CYCLE > 0.0).then(|| self.STALL / self.CYCLE))
    }

    /// A row of Tables 5 to 7: `write`, `fprintf user`, `Send kernel`. The paper calls library functions, and
    /// system calls through `syscall()`; it gives no times.
    fn call(&self, set: &str, state: CacheState, row: &str) -> Call {
        let (name, side) = match row.split_once(' ') {
            Some((name, "user")) => (name, Side::User),
            Some((name, _)) => (name, Side::Kernel),
            None => (row, Side::Kernel),
        };
        Call {
            name: if set == "mpi" { format!("MPI_{name}") } else { name.to_owned() },
            set: set.to_owned(),
            state,
            side,
            wrapped: true,
            counts: self.counts(Some(self.STALL)),
            CPI: self.CPI.map(Estimate::exact),
            ..Call::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn median(estimate: &Option<Estimate>) -> Option<f64> {
        estimate.as_ref().map(|estimate| estimate.median)
    }

    #[test]
    fn every_printed_row_becomes_one_of_the_profile() {
        let paper = figures();
        let (_, machine) = paper.publication().machines.remove(0);
        let (counters, calls) = (machine.counters.unwrap(), machine.calls.unwrap().calls);
        let rows = |table: &Table| table.cold.len() + table.warm.len();
        assert_eq!(calls.len(), rows(&paper.syscalls) + rows(&paper.libc) + rows(&paper.mpi));
        assert_eq!((calls.len(), counters.tools.len()), (32, 3));
        assert!(calls.iter().all(|call| place(&call.name) < ORDER.len()), "a row has no place in the order");
        let of = |name: &str, state, side| {
            calls.iter().find(|call| (&*call.name, call.state, call.side) == (name, state, side)).unwrap()
        };
        let write = of("write", CacheState::Cold, Side::Kernel);
        assert_eq!((median(&write.counts.L2M), median(&write.CPI)), (Some(405.0), Some(17.02)));
        let send = of("MPI_Send", CacheState::Second, Side::User);
        assert_eq!((median(&send.counts.L1IM), median(&send.counts.STALL)), (Some(299.0), Some(0.66)));
    }

    #[test]
    fn stalled_cycles_of_table_4_become_a_share_of_the_cycles() {
        let tools = figures().counters().tools;
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ORDER[..3]);
        assert!((median(&tools[2].user.STALL).unwrap() - 3817.0 / 5741.0).abs() < 1e-12);
        assert_eq!(median(&tools[0].kernel.STALL), None, "no cycles, no share");
        assert_eq!(median(&tools[0].kernel.INS), Some(0.0));
        assert_eq!((median(&tools[0].user.L1IM), median(&tools[0].kernel.L1DM)), (None, None));
    }

    #[test]
    fn the_findings_follow_from_the_tables() {
        let paper = figures();
        let bytes = |events: &[Events]| events.iter().map(|row| row.L2M).sum::<f64>() * 64.0;
        assert!(bytes(&[paper.syscalls.cold["getpid"]]) < paper.findings.kernel_entry_footprint_kib * 1024.0);
        let fprintf = bytes(&[paper.libc.cold["fprintf user"], paper.libc.cold["fprintf kernel"]]);
        assert!((fprintf / 1000.0 - paper.findings.fprintf_footprint_kib).abs() < 0.05, "{fprintf}");
        let sprintf = bytes(&[paper.libc.cold["sprintf user"]]);
        assert!((sprintf / 1000.0 - paper.findings.sprintf_footprint_kib).abs() < 0.05, "{sprintf}");
        let ratio = paper.syscalls.warm["write"].CYCLE / paper.syscalls.cold["write"].CYCLE;
        assert!((ratio - paper.findings.write_warm_over_cold_cycles).abs() < 0.001, "{ratio}");
        assert_eq!(paper.clock_ghz(), Some(2.67));
    }
}
