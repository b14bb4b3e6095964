//! A CPU that goes away while it is watched, in a process of its own as it takes a pin from a thread of that name.

use std::fs;
use std::time::{Duration, Instant};

use coho_platform::pin;
use coho_probe::coherence::Watch;
use coho_probe::{Around, Experiment, Progress};
use coho_profile::PairMethod;
use coho_testing::{Capability, in_own_process, needs};

/// Does to a worker what taking its CPU offline does: lets it run elsewhere.
fn unpin(cpu: u32, to: u32) {
    let name = format!("coho cpu {cpu}\n");
    let worker = fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|task| fs::read_to_string(task.join("comm")).is_ok_and(|own| own == name))
        .expect("a worker of that name");
    let thread: libc::pid_t = worker.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let words = coho_topology::CpuSet::from_iter([to]).words().to_vec();
    // SAFETY: the kernel reads exactly the given number of bytes.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, thread, words.len() * 8, words.as_ptr()) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn a_timeline_ends_where_a_cpu_is_lost() {
    needs!(Capability::TwoCpus);
    in_own_process(a_timeline_ends_where_a_cpu_is_lost, || {
        let cpus: Vec<_> = pin::allowed().unwrap().iter().take(2).collect();
        let [a, b] = [cpus[0], cpus[1]];
        let long = Duration::from_secs(3600);
        let start = Instant::now();
        let mut calls = 0;
        let mut lose = |_: Progress| {
            calls += 1;
            // Late enough for a sample to be there, also where others use the CPUs.
            if calls == 40 {
                unpin(b, a);
            }
        };
        let watch = Watch { pair: (a, b), method: PairMethod::Turn, time: long };
        let topology = coho_topology::detect().unwrap();
        let coherence = watch.measure(&mut Around::new(&topology, &mut lose)).unwrap();
        let timeline = coherence.timeline.unwrap();
        assert!((1..=40).contains(&timeline.samples.len()), "{:?}", timeline.samples);
        assert!(start.elapsed() < long);
    });
}
