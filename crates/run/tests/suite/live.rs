//! Programs that are moved while they run: where they end up, and what is restored.

use std::time::Duration;

use coho_platform::pin;
use coho_profile::{Examination, Live};
use coho_run::child::Ended;
use coho_run::live::{self, Error, Measure, News, Options};
use coho_run::trial::Candidate;
use coho_run::{Job, Signals, Status};
use coho_testing::{Capability, needs};

#[path = "../../examples/compute.rs"]
#[allow(dead_code, reason = "its main is for a program of its own")]
mod compute;

#[test]
#[ignore = "a program that another test starts"]
fn many_pieces() {
    compute::pieces(None);
}

fn candidate(name: &str, cpus: Option<&[u32]>, command: &[&str]) -> Candidate {
    let job = Job {
        command: command.iter().map(Into::into).collect(),
        cpus: cpus.map(|cpus| cpus.iter().copied().collect()),
        ..Job::default()
    };
    let all = || pin::allowed().unwrap().iter().collect();
    Candidate { name: name.into(), order: cpus.map_or_else(all, <[u32]>::to_vec), job }
}

fn options() -> Options {
    Options { period: Duration::from_millis(60), again: None, seed: 1, to_stderr: true }
}

fn run(
    candidates: &[Candidate],
    expression: &str,
    signals: &Signals,
    tell: &mut dyn FnMut(News<'_>),
) -> Result<(Live, Ended), Error> {
    let room = pin::allowed().unwrap();
    live::run(candidates, &room, &Measure::printed(expression).unwrap(), &options(), signals, tell)
}

/// Signals this thread, which holds signals back for the command.
fn end() {
    // SAFETY: names the calling thread.
    unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGTERM) };
}

#[test]
fn a_program_is_left_where_the_verdict_says() {
    needs!(Capability::TwoCpus);
    let cpus: Vec<u32> = pin::allowed().unwrap().iter().collect();
    let this = std::env::current_exe().unwrap().display().to_string();
    let command = [this.as_str(), "--exact", "--ignored", "--nocapture", "live::many_pieces"];
    let candidates = [candidate("compact", Some(&cpus[..1]), &command), candidate("none", None, &command)];
    let signals = Signals::hold().unwrap();
    let mut settled: Option<Examination> = None;
    let (live, ended) = run(&candidates, r"(\d+) pieces/s", &signals, &mut |news| {
        if let News::Settled(examination) = news {
            settled = Some(examination.clone());
            end();
        }
    })
    .unwrap();
    assert_eq!((ended.status, ended.asked_to_end), (Status::Signalled(libc::SIGTERM), true));
    let settled = settled.unwrap();
    assert_eq!(live.best.as_ref(), Some(&settled.best));
    assert!(settled.rounds >= 6, "{settled:?}");
    // The placement that leaves the scheduler its choice is always examined; figures justify any other choice.
    let [compact, none] = &settled.placements[..] else { panic!("{settled:?}") };
    let (others, is_best) = if settled.best == "none" { (compact, none) } else { (none, compact) };
    assert!(is_best.best_times.is_none(), "{settled:?}");
    let apart = others.best_times.as_ref().is_some_and(|times| times.low > 1.0);
    assert!(!settled.decided || apart, "{settled:?}");
    assert!(settled.best == "none" || settled.decided, "{settled:?}");
}

/// Prints its progress, which is tenfold once it finds itself on one CPU.
const LIKES_ONE: &str = "while :; do
    case $(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status) in *[,-]*) echo rate 10;; *) echo rate 100;; esac
    sleep 0.01
done";

#[test]
fn a_program_goes_where_its_rate_is_highest_with_all_its_processes() {
    needs!(Capability::TwoCpus);
    let cpus: Vec<u32> = pin::allowed().unwrap().iter().collect();
    let command = ["sh", "-c", LIKES_ONE];
    let last = &cpus[cpus.len() - 1..];
    let candidates = [
        candidate("none", None, &command),
        candidate("spread", Some(&cpus), &command),
        candidate("last", Some(last), &command),
    ];
    let signals = Signals::hold().unwrap();
    let (room, measure) = (pin::allowed().unwrap(), Measure::printed("rate ([0-9]+)").unwrap());
    let mut settled = 0;
    let (live, _) = live::run(&candidates, &room, &measure, &options(), &signals, &mut |news| {
        if let News::Settled(examination) = news {
            assert_eq!(examination.placements[1].same_as.as_deref(), Some("none"));
            settled += 1;
            end();
        }
    })
    .unwrap();
    assert_eq!((settled, live.examinations.len()), (1, 1));
    let examination = &live.examinations[0];
    assert_eq!(live.best.as_ref(), Some(&examination.best));
    // The tenfold rate is what the program prints; if other processes use the CPUs too, a line may come late and belong
    // to other CPUs.
    for placement in &examination.placements {
        let rate = placement.rate.as_ref().unwrap();
        assert!((10.0..=100.0).contains(&rate.median), "{placement:?}");
    }
}

#[test]
fn a_command_that_ends_first_is_told_as_it_ended() {
    let candidates = [candidate("none", None, &["sh", "-c", "echo rate 1; exit 4"])];
    let signals = Signals::hold().unwrap();
    let (live, ended) = run(&candidates, "rate ([0-9]+)", &signals, &mut |news| panic!("{news:?}")).unwrap();
    assert_eq!((ended.status, live.best, live.examinations.len()), (Status::Exited(4), None, 0));
}

#[test]
fn without_an_expression_or_a_program_nothing_runs() {
    assert!(Measure::printed("(").unwrap_err().to_string().contains("open group"));
    let signals = Signals::hold().unwrap();
    let absent = [candidate("none", None, &["/nonexistent"])];
    assert!(matches!(run(&absent, "x", &signals, &mut |_| {}), Err(Error::Start(_))));
}
