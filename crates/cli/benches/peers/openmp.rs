//! Programs compiled by `gcc -fopenmp`, as they are: with libgomp, over LLVM's libomp, which has libgomp's interface too,
//! and on coho's teams.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::openmp_clients;
use crate::openmp_overhead;
use crate::openmp_table::{self as table, on_coho, output};
use crate::quota::Quota;
use crate::turns::{Busy, allowed_cpus, median, middle_half};

/// Prints the tables.
pub fn run(quick: bool) {
    openmp_overhead::run(quick);
    bound();
    println!("Unmodified OpenMP programs, 2 threads: times coho's; medians, in brackets the middle half");
    let built =
        compile("constructs_timed.c").and_then(|constructs| Ok((constructs, compile("tasks_timed.c")?)));
    let (constructs, tasks) = match built {
        Ok(programs) => programs,
        Err(why) => {
            println!("  not available: {why}\n");
            return;
        }
    };
    let rounds = if quick { 4 } else { 24 };
    table::print("idle", &constructs, &[], rounds, true, &|command| command);
    table::print("idle", &tasks, &[], rounds, true, &|command| command);
    for (program, condition) in [("barriers", "barrier-bound, idle"), ("coarse", "coarse, idle")] {
        table::print(condition, &constructs, &[program], rounds, true, &|command| command);
    }
    let first: Vec<_> = allowed_cpus().into_iter().take(1).collect();
    {
        let _busy = Busy::on(&first);
        for (program, condition) in
            [("barriers", "barrier-bound, a busy CPU"), ("coarse", "coarse, a busy CPU")]
        {
            table::print(condition, &constructs, &[program], rounds.min(5), false, &|command| command);
        }
    }
    match Quota::of_cpus(1.0) {
        Ok(quota) => {
            for (program, condition) in
                [("barriers", "barrier-bound, a quota of one CPU"), ("coarse", "coarse, a quota")]
            {
                let under = |command| quota.confine(&command);
                table::print(condition, &constructs, &[program], rounds.min(5), false, &under);
            }
        }
        Err(why) => println!("  under a quota: not available: {why}\n"),
    }
    openmp_clients::run(quick);
}

/// A program of the OpenMP library's tests.
fn compile(source: &str) -> Result<PathBuf, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openmp/tests/programs").join(source);
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(source).with_extension("");
    command::printed(Command::new("gcc").args(["-O2", "-fopenmp", "-o"]).arg(&program).arg(path))?;
    Ok(program)
}

/// A barrier after a little work beside the two alone, in blocks that take turns in one process.
fn bound() {
    println!("A barrier after some 200 ns of work, 2 threads, blocks in turn in one process");
    let printed = compile("bound_timed.c").and_then(|program| output(on_coho(&program), "2"));
    let blocks: Vec<[f64; 4]> = match &printed {
        Ok(text) => text.lines().filter_map(block).collect(),
        Err(why) => {
            println!("  not available: {why}\n");
            return;
        }
    };
    // Where the host moves the CPUs, the barrier alone tells where they were.
    let barriers: Vec<f64> = blocks.iter().map(|block| block[1]).collect();
    let (near, far): (Vec<_>, Vec<_>) = blocks.iter().partition(|block| block[1] < 2.0 * least(&barriers));
    for (place, blocks) in [("nearest", near), ("farther", far)] {
        if blocks.len() < 20 {
            continue;
        }
        let of = |value: &dyn Fn(&[f64; 4]) -> f64| blocks.iter().map(value).collect::<Vec<_>>();
        let ratios = of(&|[work, barrier, both, _]| both / (work + barrier));
        let (low, high) = middle_half(&ratios);
        println!(
            "  {place:<8} work {:>4.0} ns  barrier {:>4.0} ns  both {:>4.0} ns = {:.2} x the sum ({low:.2}-{high:.2})  \
             with plain flags {:>4.0} ns",
            median(&of(&|block| block[0])),
            median(&of(&|block| block[1])),
            median(&of(&|block| block[2])),
            median(&ratios),
            median(&of(&|block| block[3])),
        );
    }
    println!();
}

fn block(line: &str) -> Option<[f64; 4]> {
    let values: Vec<f64> = line.split(' ').filter_map(|value| value.parse().ok()).collect();
    values.try_into().ok()
}

fn least(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // Not the very least, which may be a slip of the clock.
    sorted.get(sorted.len() / 20).copied().unwrap_or(0.0)
}
