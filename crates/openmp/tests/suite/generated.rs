//! Randomly generated programs whose output does not depend on which thread does what: regions, loops, reductions,
//! singles, criticals, tasks, nested teams. They print the same with libgomp as with the preloaded library.
//!
//! `COHO_OPENMP_PROGRAMS` sets how many are made.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use coho_testing::{Capability, needs};
use fastrand::Rng;

use crate::support::{compile_file, finish, preloaded};

/// How many go into a file: compiling takes longer than running.
const IN_A_FILE: usize = 50;

#[test]
fn programs_made_by_chance() {
    needs!(Capability::Gcc);
    let programs =
        std::env::var("COHO_OPENMP_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(200);
    let seed = std::env::var("COHO_OPENMP_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("generated-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for first in (0..programs).step_by(IN_A_FILE) {
        let last = programs.min(first + IN_A_FILE);
        let source = folder.join(format!("from_{first}.c"));
        fs::write(&source, file(seed, first, last)).unwrap();
        let program = compile_file(&source, &["-Wno-unused"]);
        let mut random = Rng::with_seed(seed ^ first as u64);
        let threads = random.u32(1..=8).to_string();
        let mut plain = Command::new(&program);
        plain.env("OMP_NUM_THREADS", &threads).env("OMP_WAIT_POLICY", "passive");
        let plain = finish(&mut plain, Duration::from_secs(120));
        let mut ours = preloaded(&program);
        let ours = finish(ours.env("OMP_NUM_THREADS", &threads), Duration::from_secs(120));
        assert!(ours.errors.contains("taken over"), "{}", ours.errors);
        let wrong = ours.output.lines().zip(plain.output.lines()).find(|(ours, plain)| ours != plain);
        assert_eq!(wrong, None, "seed {seed}, {}, {threads} threads", source.display());
        assert_eq!(
            (ours.status, plain.status),
            (Some(0), Some(0)),
            "seed {seed}, {}: {}",
            source.display(),
            ours.errors
        );
        assert_eq!(plain.output.lines().count(), last - first);
    }
    fs::remove_dir_all(folder).unwrap();
}

/// A file of so many programs, each a function that prints a line.
fn file(seed: u64, first: usize, last: usize) -> String {
    let mut text = String::from(
        "#include <omp.h>\n#include <stdio.h>\nstatic long mix(long a, long b) { return (a * 31 + b * 17 + 7) % 1000003; }\n",
    );
    for number in first..last {
        let mut writer = Writer {
            random: Rng::with_seed(seed.wrapping_mul(1_000_003) ^ number as u64),
            text: String::new(),
            names: 0,
        };
        writer.program(number);
        text += &writer.text;
    }
    text += "int main(void) {\n    omp_set_max_active_levels(2);\n";
    for number in first..last {
        writeln!(text, "    program_{number}();").unwrap();
    }
    text + "    return 0;\n}\n"
}

struct Writer {
    random: Rng,
    text: String,
    names: u32,
}

impl Writer {
    fn line(&mut self, depth: usize, line: &str) {
        writeln!(self.text, "{}{line}", "    ".repeat(depth)).unwrap();
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.random.usize(..from.len())]
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn program(&mut self, number: usize) {
        self.line(0, &format!("static void program_{number}(void) {{"));
        self.line(1, "long sum = 0, cells[64] = {0}; (void)cells;");
        for _ in 0..self.random.usize(1..5) {
            match self.random.usize(..8) {
                0 => self.combined_loop(),
                1 => self.combined_sections(),
                2 => self.scan(),
                3 => self.conditional(),
                _ => self.region(1, true),
            }
        }
        self.line(1, "for (int i = 0; i < 64; i++) sum = mix(sum, cells[i]);");
        self.line(1, &format!("printf(\"{number}: %ld\\n\", sum);"));
        self.line(0, "}");
    }

    fn schedule(&mut self) -> String {
        let kind = self.pick(&["static", "dynamic", "guided", "auto", "runtime", ""]);
        match kind {
            "" => String::new(),
            "auto" | "runtime" => format!(" schedule({kind})"),
            kind if self.random.bool() => format!(" schedule({kind}, {})", self.random.u32(1..20)),
            kind => format!(" schedule({kind})"),
        }
    }

    fn threads(&mut self) -> String {
        if self.random.bool() { format!(" num_threads({})", self.random.u32(1..=8)) } else { String::new() }
    }

    /// A loop's head, and its variable. It has no iterations at times if `least` is 1, and some always if it is 4.
    fn head(&mut self, least: u32) -> (String, String) {
        let (name, kind) =
            (self.name(), self.pick(&["int", "long", "unsigned", "unsigned long long", "short"]));
        let (count, step) = (self.random.u32(least..200), self.random.u32(1..6));
        let head = if self.random.bool() || kind.starts_with('u') {
            format!("for ({kind} {name} = 3; {name} < {}; {name} += {step})", count * step)
        } else {
            format!("for ({kind} {name} = {}; {name} > -7; {name} -= {step})", count * step)
        };
        (head, name)
    }

    fn combined_loop(&mut self) {
        // Without iterations the last value is not defined.
        let (threads, schedule, (head, name)) = (self.threads(), self.schedule(), self.head(4));
        let last = self.name();
        self.line(1, &format!("long {last} = 1;"));
        let clauses = format!("{threads}{schedule} reduction(+ : sum) lastprivate({last})");
        self.line(1, &format!("#pragma omp parallel for{clauses}"));
        self.line(1, &format!("{head} {{ {last} = (long){name}; sum += {last} * {last} % 1009; }}"));
        self.line(1, &format!("sum = mix(sum, {last});"));
    }

    /// A loop of sums so far.
    fn scan(&mut self) {
        let (construct, kind) =
            (self.pick(&["parallel for", "parallel for simd"]), self.pick(&["inclusive", "exclusive"]));
        let (threads, name, count) = (self.threads(), self.name(), self.random.u32(0..64));
        let (adds, keeps) =
            (format!("sum += {name} * {name} % 101;"), format!("cells[{name}] += sum % 1013;"));
        self.line(1, &format!("#pragma omp {construct}{threads} reduction(inscan, + : sum)"));
        self.line(1, &format!("for (int {name} = 0; {name} < {count}; {name}++) {{"));
        self.line(2, if kind == "inclusive" { &adds } else { &keeps });
        self.line(2, &format!("#pragma omp scan {kind}(sum)"));
        self.line(2, if kind == "inclusive" { &keeps } else { &adds });
        self.line(1, "}");
    }

    /// What the last iteration leaves that has set a variable. The loop goes up: else GCC 12 errs.
    fn conditional(&mut self) {
        let (threads, schedule, name, last) = (self.threads(), self.schedule(), self.name(), self.name());
        let kind = self.pick(&["int", "long", "unsigned long long"]);
        let (count, step, every) = (self.random.u32(0..200), self.random.u32(1..6), self.random.u32(1..30));
        self.line(1, &format!("long {last} = 1;"));
        self.line(
            1,
            &format!("#pragma omp parallel for{threads}{schedule} lastprivate(conditional : {last})"),
        );
        self.line(1, &format!("for ({kind} {name} = 2; {name} < {}; {name} += {step})", count * step));
        self.line(2, &format!("if ({name} % {every} == 0) {last} = (long){name};"));
        self.line(1, &format!("sum = mix(sum, {last});"));
    }

    fn combined_sections(&mut self) {
        let threads = self.threads();
        self.line(1, &format!("#pragma omp parallel sections{threads} reduction(+ : sum)"));
        self.line(1, "{");
        for part in 0..self.random.usize(1..6) {
            self.line(2, "#pragma omp section");
            self.line(2, &format!("sum += {};", part * part + 1));
        }
        self.line(1, "}");
    }

    /// A region. What it adds to `sum` must not depend on how many members there are, nor on who they are.
    fn region(&mut self, depth: usize, may_nest: bool) {
        let threads = self.threads();
        self.line(depth, &format!("#pragma omp parallel{threads} shared(sum, cells)"));
        self.line(depth, "{");
        for _ in 0..self.random.usize(1..6) {
            self.construct(depth + 1, may_nest);
        }
        self.line(depth, "}");
        self.line(depth, "sum = mix(sum, 2);");
    }

    fn construct(&mut self, depth: usize, may_nest: bool) {
        let add = |part: &str| format!("__atomic_fetch_add(&sum, {part}, __ATOMIC_RELAXED);");
        let number = self.random.u32(1..1000);
        match self.random.usize(..11) {
            0 => {
                let (nowait, schedule, (head, name)) =
                    (self.pick(&["", " nowait"]), self.schedule(), self.head(1));
                self.line(depth, &format!("#pragma omp for{schedule}{nowait}"));
                self.line(depth, &format!("{head} {}", add(&format!("(long){name} % 101"))));
            }
            1 => {
                let (schedule, (head, name)) = (self.schedule(), self.head(1));
                self.line(depth, "#pragma omp barrier");
                self.line(depth, &format!("#pragma omp for{schedule} ordered"));
                self.line(depth, &format!("{head} {{"));
                self.line(depth, "#pragma omp ordered");
                self.line(depth, &format!("sum = mix(sum, (long){name});"));
                self.line(depth, "}");
            }
            2 => {
                let nowait = self.pick(&["", " nowait"]);
                self.line(depth, &format!("#pragma omp single{nowait}"));
                self.line(depth, &add(&number.to_string()));
            }
            3 => {
                let name = self.name();
                self.line(depth, &format!("long {name} = 1;"));
                self.line(depth, &format!("#pragma omp single copyprivate({name})"));
                self.line(depth, &format!("{name} = {number};"));
                self.line(depth, &format!("if ({name} != {number}) sum = -1;"));
                self.line(depth, "#pragma omp barrier");
            }
            4 => {
                // Each member once: it is counted, but not added up.
                let name = self.pick(&["", "(one)", "(two)"]);
                self.line(depth, &format!("#pragma omp critical{name}"));
                let add = format!("__atomic_fetch_or(&cells[{}], {number}, __ATOMIC_RELAXED);", number % 64);
                self.line(depth, &add);
            }
            5 => {
                self.line(depth, "#pragma omp sections");
                self.line(depth, "{");
                for part in 0..self.random.usize(1..5) {
                    self.line(depth + 1, "#pragma omp section");
                    self.line(depth + 1, &add(&format!("{number} + {part}")));
                }
                self.line(depth, "}");
            }
            6 => self.line(depth, "#pragma omp barrier"),
            7 => {
                self.line(depth, "#pragma omp barrier");
                self.line(depth, "#pragma omp single");
                self.line(depth, &format!("sum = mix(sum, {number});"));
            }
            8 => {
                self.line(depth, "#pragma omp single");
                self.line(depth, "{");
                self.tasks(depth + 1, 2);
                self.line(depth, "}");
            }
            9 => {
                let (head, name) = self.head(1);
                let clause = self.pick(&["", " grainsize(3)", " num_tasks(5)", " nogroup"]);
                self.line(depth, "#pragma omp single");
                self.line(depth, &format!("#pragma omp taskloop{clause}"));
                self.line(depth, &format!("{head} {}", add(&format!("(long){name} % 13"))));
            }
            _ if may_nest => {
                self.line(depth, "#pragma omp barrier");
                self.line(depth, "#pragma omp single");
                self.line(depth, "{");
                self.region(depth + 1, false);
                self.line(depth, "}");
            }
            _ => {
                self.line(depth, "#pragma omp master");
                self.line(depth, &add(&number.to_string()));
            }
        }
    }

    fn tasks(&mut self, depth: usize, levels: usize) {
        for _ in 0..self.random.usize(1..5) {
            let clause = match self.random.usize(..5) {
                0 => format!(" if ({})", self.random.u32(..2)),
                1 => format!(" final({})", self.random.u32(..2)),
                2 => " untied".into(),
                3 => " mergeable".into(),
                _ => String::new(),
            };
            let number = self.random.u32(1..100);
            self.line(depth, &format!("#pragma omp task{clause} shared(sum) firstprivate(cells)"));
            self.line(depth, "{");
            self.line(depth + 1, &format!("__atomic_fetch_add(&sum, {number}, __ATOMIC_RELAXED);"));
            if levels > 0 && self.random.bool() {
                self.tasks(depth + 1, levels - 1);
            }
            self.line(depth, "}");
            match self.random.usize(..6) {
                0 => self.line(depth, "#pragma omp taskwait"),
                1 => self.line(depth, "#pragma omp taskyield"),
                2 if levels > 0 => {
                    self.line(depth, "#pragma omp taskgroup");
                    self.line(depth, "{");
                    self.tasks(depth + 1, levels - 1);
                    self.line(depth, "}");
                }
                _ => {}
            }
        }
    }
}
