//! The machine that the tests run on.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use coho_topology::{CpuSet, cpuid};

use crate::cpuid_support;

#[test]
fn this_machine_is_decoded_whole() {
    let allowed = cpuid::allowed_cpus().unwrap();
    let dump = cpuid::live(&allowed).unwrap();
    assert_eq!(dump.cpu_set().unwrap(), allowed);
    let topology = cpuid::decode(&dump).unwrap();
    cpuid_support::assert_consistent(&topology);
    assert_eq!(topology.cpus(), allowed);
    assert_eq!(cpuid::allowed_cpus().unwrap(), allowed, "the caller's affinity is restored");
    assert_eq!(cpuid::parse(&dump.to_string()).unwrap(), dump);
}

#[test]
fn the_callers_scheduling_is_restored() {
    let policy = || std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    // Fields 40 and 41: real-time priority and policy; counted from the end of the name, which may hold blanks.
    let scheduling = || {
        let stat = policy();
        let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_ascii_whitespace().collect();
        (fields[37].to_string(), fields[38].to_string())
    };
    let before = scheduling();
    cpuid::live(&cpuid::allowed_cpus().unwrap()).unwrap();
    assert_eq!(scheduling(), before);
}

#[test]
fn each_cpu_can_be_asked_alone() {
    for cpu in cpuid::allowed_cpus().unwrap().iter() {
        let dump = cpuid::live(&CpuSet::from_iter([cpu])).unwrap();
        assert_eq!(dump.cpus[0].os, cpu);
    }
}

#[test]
fn a_cpu_that_may_not_be_asked_is_named() {
    let allowed = cpuid::allowed_cpus().unwrap();
    let outside = allowed.last().unwrap() + 1;
    let error = cpuid::live(&CpuSet::from_iter([outside])).unwrap_err().to_string();
    assert!(error.contains(&format!("CPUs {outside}: CPUID not available")), "{error}");
    assert!(cpuid::live(&CpuSet::new()).is_err());
}

#[test]
fn the_device_answers_as_the_instruction_or_says_why_not() {
    let allowed = cpuid::allowed_cpus().unwrap();
    match cpuid::live_by_device(&allowed) {
        Ok(dump) => {
            let by_instruction = cpuid::decode(&cpuid::live(&allowed).unwrap()).unwrap();
            assert_eq!(cpuid::decode(&dump).unwrap(), by_instruction);
        }
        Err(error) => assert!(error.file().unwrap().ends_with("cpuid"), "{error}"),
    }
}
