//! What is missing: which command would measure it, and where none would help.

use coho_profile::{Host, WithoutIdle};

use super::*;

fn with_cpus(profile: Profile, cpus: u32) -> Profile {
    Profile { host: Some(Host { allowed_cpus: (0..cpus).collect(), ..Host::default() }), ..profile }
}

/// A team of two threads.
fn of_two() -> Profile {
    team(|sync| {
        sync.fork_join.retain(|row| row.threads == 16);
        sync.fork_join.iter_mut().for_each(|row| row.threads = 2);
        for kernel in sync.kernels.values_mut() {
            kernel.points.retain(|point| point.threads == 16);
            kernel.points.iter_mut().for_each(|point| point.threads = 2);
        }
    })
}

#[test]
fn a_command_is_named_only_where_it_would_tell() {
    for claim in
        ["On 16 CPUs, fork", "On 16 CPUs, FBS", "On 8 CPUs", "Half the CPUs fork", "Half the CPUs wait"]
    {
        let small = the(claim, &judge(&with_cpus(of_two(), 2)));
        assert_eq!((small.verdict, &small.measure), (Verdict::CannotBeTold, &None), "{small:?}");
        assert!(small.why.contains("a CPU each, and there are 2"), "{}", small.why);
        assert!(!small.why.contains("measures what is missing"), "{}", small.why);
        let large = the(claim, &judge(&with_cpus(of_two(), 64)));
        assert!(large.measure.is_some() && large.why.contains("measures what is missing"), "{large:?}");
    }
}

/// Also where nothing was measured, or only regions that begin with a flag.
#[test]
fn two_cpus_are_no_team_of_sixteen_whatever_was_measured() {
    let mut flags = of_two();
    flags.sync.as_mut().unwrap().fork_join.iter_mut().for_each(|row| row.by = "go-flag".into());
    for profile in [with_cpus(flags, 2), with_cpus(Profile::default(), 2)] {
        let all = judge(&profile);
        for claim in ["On 16 CPUs, fork", "On 8 CPUs", "Half the CPUs fork", "Half the CPUs wait"] {
            assert_eq!(the(claim, &all).measure, None, "{claim}");
        }
        assert!(the("Fork and join by a lock", &all).measure.is_some());
    }
    let mut alike = with_cpus(Profile::default(), 2);
    alike.topology = packages();
    assert_eq!(the("Spread over modules, a parallel", &judge(&alike)).measure, None);
}

/// Only `--peers` measures what other libraries do.
#[test]
fn what_openmp_takes_is_measured_among_the_peers() {
    for profile in [team(|sync| sync.peers.clear()), Profile::default()] {
        let openmp = the("The fast barrier beats the one that programs get", &judge(&with_cpus(profile, 64)));
        assert_eq!(openmp.measure.as_deref(), Some("coho barrier --peers -o PROFILE"), "{openmp:?}");
    }
}

#[test]
fn a_team_of_an_odd_size_takes_a_command_of_its_own() {
    let profile = team(|sync| {
        sync.fork_join.retain(|row| row.threads == 16);
        sync.fork_join.iter_mut().for_each(|row| row.threads = 12);
    });
    let half = the("Half the CPUs fork", &judge(&with_cpus(profile, 12)));
    assert_eq!(half.measure.as_deref(), Some("coho barrier --threads 6,12 -o PROFILE"), "{half:?}");
    let flat = team(|sync| {
        sync.fork_join.retain(|row| row.mapping == "sequential");
        let why = "its ranks have the same CPUs as in sequential mapping";
        sync.method.not_available.insert("binary-tree mapping, 8 threads".into(), why.into());
    });
    let flat = the("Half the CPUs fork", &judge(&flat));
    assert!(flat.measure.is_none() && flat.why.contains("the same CPUs"), "{flat:?}");
}

#[test]
fn what_takes_counters_is_asked_for_only_where_there_are_some() {
    let claim = "The second time, getpid";
    let timed = |why: Option<&str>| {
        let profile = of_calls(|calls| {
            calls.method = CallMethod::Timing;
            let why = why.map(|why| ("pmu".to_owned(), format!("not available: {why}")));
            calls.conditions.not_available.extend(why);
        });
        the(claim, &judge(&profile))
    };
    let none = timed(Some("this machine has no performance counters"));
    assert!(none.why.ends_with("misses: this machine has no performance counters"), "{}", none.why);
    assert_eq!(none.measure, None);
    for why in [None, Some("performance counters were not to be used")] {
        assert_eq!(timed(why).measure.as_deref(), Some("coho calls -o PROFILE"), "{why:?}");
    }
    let no_event = of_calls(|calls| {
        calls.calls.iter_mut().for_each(|call| call.counts.L2M = None);
        calls.conditions.not_available.insert("L2M".into(), "not available: no event for it".into());
    });
    let no_event = the(claim, &judge(&no_event));
    assert!(no_event.measure.is_none() && no_event.why.contains("no event for it"), "{no_event:?}");
}

#[test]
fn what_a_machine_does_not_have_no_command_measures() {
    // A package of two cores, all in one cache.
    let mut profile = lines();
    profile.coherence.as_mut().unwrap().pairs.retain(|pair| pair.b == 2);
    let command = |profile: &Profile, claim: &str| the(claim, &judge(profile)).measure;
    assert!(command(&profile, "One hop costs").is_some(), "there are other packages");
    profile.host.as_mut().unwrap().allowed_cpus = vec![0, 2];
    for claim in ["One hop costs", "Two hops cost", "Two threads of a core", "Sharing costs more"] {
        assert_eq!(command(&profile, claim), None, "{claim}");
    }
    let memory = |why: &str| {
        let mut memory = Memory::default();
        memory.method.not_available.insert("rates of WC".into(), why.into());
        with_memory(memory)
    };
    let wc = the("Plain reads of WC", &judge(&memory("no provider has any (vgem: no devices)")));
    assert!(wc.measure.is_none() && wc.why.contains("no provider has any,"), "{wc:?}");
    let usual = the("While the caches hold", &judge(&memory("no provider has any")));
    assert_eq!(usual.measure, None, "of WB and WC memory neither was measured, and WC cannot be");
    let short = of_calls(|calls| {
        calls.calls.retain(|call| call.name != "getpid");
        calls.conditions.not_available.insert("getpid bare, cold".into(), "within 9 ns of the clock".into());
    });
    let short = the("The second time, each system call", &judge(&short));
    assert!(short.measure.is_none() && short.why.contains("within 9 ns of the clock"), "{short:?}");
    let not_asked = the("Plain reads of WC", &judge(&with_memory(Memory::default())));
    assert!(not_asked.measure.is_some_and(|command| command.contains("--type WB,WC,UC")));
    let spread = workloads(|all| {
        all.results.retain(|row| row.placement != "spread");
        let same = "the same CPUs as compact";
        all.method.not_available.insert("placement spread, 2 copies".into(), same.into());
    });
    assert_eq!(command(&spread, "Spread over modules, UnixBench"), None);
    assert!(command(&Profile::default(), "Spread over modules, UnixBench").is_some());
    let mut counters = Profile { counters: measured().counters, ..Profile::default() };
    counters.counters.as_mut().unwrap().tools[2].not_available = Some("no libpapi".into());
    assert_eq!(command(&counters, "Counters read in user mode"), None);
}

#[test]
fn c6_is_judged_only_where_it_was_kept_from_the_cpus() {
    let with = |change: fn(&mut WithoutIdle)| {
        the("Without C6", &judge(&workloads(|all| change(all.without_idle.as_mut().unwrap()))))
    };
    assert_eq!(with(|_| ()).verdict, Verdict::Holds);
    let vain = with(|without| without.status = "set, without effect: CPUs were in them for 9 %".into());
    assert!(vain.verdict == Verdict::CannotBeTold && vain.measure.is_none(), "{vain:?}");
    let other = with(|without| without.states = vec!["C1".into()]);
    assert!(other.verdict == Verdict::CannotBeTold && other.why.contains("C1 was forbidden"), "{other:?}");
}

#[test]
fn no_run_settles_what_a_paper_measured() {
    for paper in published::PAPERS.iter() {
        for (_, profile) in paper.publication().machines {
            assert!(judge_published(&profile).iter().all(|one| one.measure.is_none()), "{}", paper.name);
        }
    }
}

/// The paper's MPI went through sockets.
#[test]
fn mpi_through_shared_memory_decides_nothing() {
    let claim = "The second time, MPI's";
    let shared = of_calls(|calls| {
        for call in &mut calls.calls {
            call.name = call.name.replace(" over TCP", "");
        }
    });
    let judgement = the(claim, &judge(&shared));
    assert_eq!((judgement.verdict, &judgement.here), (Verdict::CannotBeTold, &None), "{judgement:?}");
    assert!(judgement.measure.is_some() && judgement.why.contains("MPI_Send over TCP"), "{}", judgement.why);
    let mut refused = shared;
    let reasons = &mut refused.calls.as_mut().unwrap().conditions.not_available;
    reasons.insert("mpi over TCP".into(), "no mpiexec".into());
    let refused = the(claim, &judge(&refused));
    assert!(refused.measure.is_none() && refused.why.contains("no mpiexec"), "{refused:?}");
}

/// A claim on several figures holds if all of them support it, and does not hold if any contradicts it.
#[test]
fn a_part_that_is_missing_keeps_a_claim_open() {
    let claim = "The second time, each system call";
    let without_stat = |second: f64| {
        of_calls(|calls| {
            calls.calls.retain(|call| call.name != "stat");
            for call in calls.calls.iter_mut().filter(|call| call.state == CacheState::Second) {
                call.counts.CYCLE = figure(second, 0.001);
            }
        })
    };
    let open = the(claim, &judge(&without_stat(600.0)));
    assert_eq!(open.verdict, Verdict::CannotBeTold, "{open:?}");
    assert!(open.why.contains("stat was not measured") && open.here.is_some(), "{open:?}");
    assert!(open.measure.is_some(), "{open:?}");
    let failed = the(claim, &judge(&without_stat(4000.0)));
    assert_eq!(failed.verdict, Verdict::DoesNotHold, "{failed:?}");
    assert!(failed.why.contains("stat was not measured"), "{}", failed.why);

    let cold = of_calls(|calls| calls.calls.retain(|call| call.name != "close"));
    assert_eq!(the("In each cold system call", &judge(&cold)).verdict, Verdict::CannotBeTold);
    let sizes = rates(|rates| rates.retain(|rate| rate.bytes != 512));
    let reads = the("SIMD reads of WC", &judge(&sizes));
    assert_eq!(reads.verdict, Verdict::CannotBeTold, "{reads:?}");
    assert!(reads.why.contains("512 B was not measured"), "{}", reads.why);
    let mut steps = lines();
    assert_eq!(the("Sharing costs more", &judge(&steps)).verdict, Verdict::Holds);
    steps.coherence.as_mut().unwrap().pairs.retain(|pair| pair.b != 8);
    let steps = the("Sharing costs more", &judge(&steps));
    assert!(steps.verdict == Verdict::CannotBeTold && steps.why.contains("2 hops were not"), "{steps:?}");
}

#[test]
fn one_cpu_is_no_reason_to_measure_again() {
    let alone = of_calls(|calls| {
        let why = "not available: another core needs a second CPU, and the run has one";
        let conditions = calls.footprint_conditions.as_mut().unwrap();
        conditions.not_available.insert("away".into(), why.into());
    });
    let told = the("stat, open and write cost", &judge(&alone));
    assert_eq!((told.verdict, &told.measure), (Verdict::CannotBeTold, &None));
    assert!(told.why.starts_with("another core needs a second CPU"), "{}", told.why);
}
