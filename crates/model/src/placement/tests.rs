//! The simulator as a whole: on the article's machine, and on any.

use coho_profile::{Ns, published};
use coho_topology::freebsd::{Flag, Group, Spec, Variant};
use coho_topology::{CpuSet, Pu, Topology, Unit, cpuid};
use fastrand::Rng;
use proptest::prelude::*;

use super::engine::{Course, Engine, simulate};
use super::program::{Op, Program, Programs};
use super::state::State;
use super::ule::BALANCE_NS;
use super::*;

/// The article's machine under the stock kernel, the control, the patch, and a kernel that knows everything.
fn article() -> (Machine, Vec<View>) {
    let dump = published::paper("kimoto-bulldozer").cpuid();
    let topology = cpuid::decode(&dump).unwrap();
    let view = |(name, variant)| View::new(name, variant, &topology, Some(&dump)).unwrap();
    let variants = [
        ("stock", Variant::Stock),
        ("control", Variant::Control),
        ("patched", Variant::Patched),
        ("full", Variant::Full),
    ];
    (Machine::new(&topology, &[0, 1, 2, 3], None), variants.map(view).to_vec())
}

fn from_begin(counted_ns: u64) -> Course {
    Course { warm_up_ns: 0, counted_ns }
}

fn predicted(workload: Workload) -> Vec<Prediction> {
    let (machine, views) = article();
    predict(&machine, &views, workload, &Costs::default(), 4, 1)
}

#[test]
fn the_flag_drives_a_pair_apart_and_the_tree_keeps_it_together() {
    let predictions = predicted(Workload::PipePair);
    let [stock, control, patched, full] = &predictions[..] else { panic!("{}", predictions.len()) };
    // Near, on one CPU or in one module, as a share of all wakes.
    let near = |prediction: &Prediction| {
        let wakes = prediction.stats.wakes;
        (wakes[0] + wakes[1]) as f64 / wakes.iter().sum::<u64>() as f64
    };
    assert!(near(patched) < 0.05 && near(control) > 0.8, "{} {}", near(patched), near(control));
    assert!(near(stock) > near(patched) && near(stock) < near(control), "{}", near(stock));
    assert_eq!(control.per_s, full.per_s, "what else the trees say decides nothing");
    // The flag forbids spinning.
    let halted = |prediction: &Prediction| {
        prediction.stats.halted as f64 / prediction.stats.wakes.iter().sum::<u64>() as f64
    };
    assert!(halted(patched) > 0.9 && halted(control) < 0.1);
    assert_eq!(patched.over(control).unwrap().sign(), Sign::Down);
    assert_eq!(patched.over(stock).unwrap().sign(), Sign::Down);
    assert_ne!(control.over(stock).unwrap().sign(), Sign::Down);
}

#[test]
fn nothing_places_a_single_task_wrong() {
    let predictions = predicted(Workload::Compute(1));
    assert!(predictions.iter().all(|view| view.over(&predictions[0]).unwrap().sign() == Sign::None));
}

#[test]
fn equal_seeds_give_equal_runs() {
    let (machine, views) = article();
    let run = |seed| {
        let programs = Workload::KernelBuild.programs();
        simulate(&machine, &views[2].tree, &programs, &Costs::default(), from_begin(300_000_000), seed)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn a_lone_loop_takes_what_it_computes_and_a_neighbour_slows_it() {
    let (machine, views) = article();
    let begun = |tasks: usize| Programs {
        programs: vec![Program {
            ops: vec![Op::Run(Ns(1000.0)), Op::Count, Op::Jump(0)],
            lines: 0.0,
            held: None,
        }],
        channels: vec![],
        begun: vec![0; tasks],
    };
    let mut costs = Costs::default();
    costs.set("module_speed", 0.5).unwrap();
    let work = |tasks| {
        simulate(&machine, &views[0].tree, &begun(tasks), &costs, from_begin(100_000_000), 3).work as f64
            / 100_000.0
    };
    assert!((work(1) - 1.0).abs() < 0.01, "{}", work(1));
    // Each started on any CPU, eight tasks finally keep all four busy, at half their speed.
    assert!((1.0..2.01).contains(&work(8)), "{}", work(8));
}

/// A machine of cores of two threads or modules of two cores, and a tree of it, flagged or not.
fn machine(pairs: u32, modules: bool, flagged: bool, flat: bool) -> (Machine, Tree) {
    let cpus: Vec<u32> = (0..2 * pairs).collect();
    let pair = |at: u32| CpuSet::from_iter([2 * at, 2 * at + 1]);
    let units: Vec<Unit> = (0..pairs).map(|at| Unit { id: Some(at), cpus: pair(at) }).collect();
    let topology = Topology {
        pus: cpus.iter().map(|&os| Pu { os, ..Pu::default() }).collect(),
        modules: if modules { units.clone() } else { vec![] },
        cores: if modules { vec![] } else { units },
        ..Topology::default()
    };
    let flags = if flagged { vec![Flag::Thread, Flag::Smt] } else { vec![] };
    let leaf = |at| Group { cache_level: 2, cpus: pair(at), flags: flags.clone(), children: vec![] };
    let children = if flat { vec![] } else { (0..pairs).map(leaf).collect() };
    let root = Group { cpus: cpus.iter().copied().collect(), children, ..Group::default() };
    (Machine::new(&topology, &cpus, None), Tree::new(&Spec { root }))
}

/// Every task is where its state says, exactly once; loads match what they count.
fn check(engine: &Engine<'_>) {
    let mut places = vec![0; engine.tasks.len()];
    for (cpu, load) in engine.cpus.iter().zip(&engine.loads) {
        assert_eq!(*load, cpu.waiting.len() + usize::from(cpu.running.is_some()));
        cpu.waiting.iter().chain(&cpu.running).for_each(|&task| places[task] += 1);
        assert!(cpu.running.is_none_or(|task| engine.tasks[task].state == State::Running));
        assert!(cpu.waiting.iter().all(|&task| engine.tasks[task].state == State::Ready));
    }
    for (task, places) in engine.tasks.iter().zip(places) {
        let on_a_cpu = matches!(task.state, State::Ready | State::Running);
        assert_eq!(places, usize::from(on_a_cpu), "{task:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// No task is lost, run twice or left waiting; no CPU is idle while others are crowded for longer than the
    /// balancer takes.
    #[test]
    fn tasks_are_conserved_and_cpus_are_not_left_idle(
        pairs in 1_u32..5,
        shape in prop::sample::select(vec![(true, true, false), (true, false, false), (false, true, false), (false, false, true)]),
        workload in prop::sample::select(Workload::ALL.to_vec()),
        seed in any::<u64>(),
    ) {
        let (modules, flagged, flat) = shape;
        let (machine, tree) = machine(pairs, modules, flagged, flat);
        let (programs, costs) = (workload.programs(), Costs::default());
        let mut engine = Engine::new(&machine, &tree, &programs, &costs, Rng::with_seed(seed));
        let mut events = 0;
        while events < 4000 && engine.step(20 * BALANCE_NS) {
            events += 1;
            check(&engine);
        }
        prop_assert!(engine.stats.longest_unfair_ns < 2 * BALANCE_NS, "{:?}", engine.stats);
    }

    /// With more computing tasks than CPUs, all of them make progress.
    #[test]
    fn every_task_that_can_run_runs(pairs in 1_u32..4, more in 1_usize..4, flagged: bool, seed in any::<u64>()) {
        let (machine, tree) = machine(pairs, true, flagged, false);
        let tasks = 2 * pairs as usize + more;
        // Each task counts once in a second of its own, then sleeps for good.
        let ops = vec![Op::RunAbout(Ns(2e8)), Op::Count, Op::Receive(0)];
        let programs = Programs {
            programs: vec![Program { ops, lines: 10.0, held: None }],
            channels: vec![0],
            begun: vec![0; tasks],
        };
        let stats = simulate(&machine, &tree, &programs, &Costs::default(), from_begin(60_000_000_000), seed);
        prop_assert_eq!(stats.work, tasks as u64 - 1, "behind the first");
        prop_assert!(stats.longest_unfair_ns < 2 * BALANCE_NS, "{:?}", stats);
    }
}

#[test]
fn differences_of_the_article_and_their_noise() {
    let topology = Contrast::of_topology();
    let find = |contrasts: &[Contrast], test: &str| {
        contrasts.iter().find(|contrast| contrast.test == test).cloned().unwrap()
    };
    let switching = find(&topology, "pipe_context_switching");
    let percent = switching.percent().map(|percent| (10.0 * percent).round() / 10.0);
    assert_eq!(percent, [-9.6, -19.5]);
    let points = switching.index_points.unwrap().map(|points| (100.0 * points).round() / 100.0);
    assert_eq!(points, [-0.84, -1.8]);
    let total = |pair: usize| topology.iter().filter_map(|c| Some(c.index_points?[pair])).sum::<f64>();
    assert!((total(0) + 2.92).abs() < 0.005 && (total(1) + 1.82).abs() < 0.01, "{} {}", total(0), total(1));
    assert!(switching.beyond_noise);
    for within in [
        "file_copy_1024",
        "file_copy_4096",
        "process_creation",
        "shell_8",
        "kernel_build",
        "whetstone_double",
    ] {
        assert!(!find(&topology, within).beyond_noise, "{within}");
    }
    let c6 = Contrast::of_c6();
    for clock in ["dhrystone2", "whetstone_double", "pipe_throughput", "syscall_overhead"] {
        let contrast = find(&c6, clock);
        assert!(
            contrast.beyond_noise && contrast.percent().iter().all(|percent| (*percent - 30.0).abs() < 3.0)
        );
    }
    assert!(!find(&c6, "shell_8").beyond_noise);
}

#[test]
fn verdicts_follow_from_signs() {
    let range = |low: f64, high: f64| Range { median: (low + high) / 2.0, low, high };
    let contrast = |change: f64, beyond_noise| Contrast {
        test: "execl",
        changes: [change; 2],
        index_points: None,
        beyond_noise,
    };
    let verdict = |measured: Contrast, tree, flag, both| Finding { measured, tree, flag, both }.verdict();
    let finding =
        |change, both| Finding { measured: contrast(change, true), tree: range(1.0, 1.0), flag: both, both };
    let told = |finding: &Finding| finding.size().unwrap();
    // The right sign, but four times as large: stated, not hidden behind the sign.
    assert!(
        told(&finding(-0.1, range(0.5, 0.7)))
            .contains("−40 % predicted, −9.5 % and −9.5 % published: the sign agrees, the size does not")
    );
    let mut between = finding(-0.1, range(0.8, 0.85));
    between.measured.changes = [-0.1, -0.3];
    assert!(told(&between).ends_with("sign and size agree."));
    assert_eq!(finding(0.1, range(0.5, 0.7)).size(), None, "a wrong sign has no size");
    let (up, down, none, unsure) = (range(1.1, 1.2), range(0.7, 0.9), range(1.0, 1.0), range(0.8, 1.2));
    assert_eq!(verdict(contrast(-0.1, true), up, down, down), Verdict::Flag);
    assert_eq!(verdict(contrast(0.1, true), up, none, up), Verdict::Tree);
    assert_eq!(verdict(contrast(-0.1, true), down, down, down), Verdict::TreeAndFlag);
    assert_eq!(verdict(contrast(-0.1, true), down, up, unsure), Verdict::NotExplained);
    assert_eq!(verdict(contrast(0.01, true), none, none, none), Verdict::NotExplained);
    assert_eq!(verdict(contrast(-0.1, false), up, down, down), Verdict::WithinNoise);
    assert_eq!(verdict(contrast(-0.1, false), none, none, unsure), Verdict::Undecided);
    assert_eq!(verdict(contrast(-0.1, false), none, none, none), Verdict::NoChange);
}
