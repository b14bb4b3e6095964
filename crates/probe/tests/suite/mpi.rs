//! MPI's calls between two ranks, which are this program again.

use std::path::Path;
use std::time::{Duration, Instant};

use coho_probe::calls::mpi::{RankCommand, rank_main};
use coho_probe::calls::{Options, Set, measure};
use coho_probe::{Course, step};
use coho_profile::{CacheState, Calls, Side};
use coho_testing::{Capability, alone, needs};

/// What `mpiexec` starts.
#[test]
#[ignore = "a program that another test starts"]
fn as_a_rank() {
    let folder = std::env::args().next_back().unwrap();
    if Path::new(&folder).is_dir() {
        rank_main(Path::new(&folder)).unwrap();
    }
}

fn measured(mpi_rank: Option<RankCommand>) -> Calls {
    let _alone = alone();
    let options = Options {
        sets: vec![Set::Mpi],
        repeats: 100,
        damage_bytes: vec![24 << 10],
        course: Course::default().within(Duration::from_secs(120)),
        mpi_rank,
        ..Options::quick()
    };
    measure(&options, &mut |_| ()).unwrap()
}

/// What a call takes cold and warm, in ns.
fn times(calls: &Calls, name: &str) -> Option<[f64; 2]> {
    let ns = |state| {
        let rows = calls.calls.iter().filter(|call| call.name == name && call.set == "mpi");
        rows.filter(|call| call.state == state).find_map(|call| call.ns.as_ref().map(|ns| ns.median))
    };
    Some([ns(CacheState::Cold)?, ns(CacheState::Warm)?])
}

#[test]
fn bytes_are_sent_and_received() {
    needs!(Capability::Mpi, Capability::TwoCpus);
    let this = RankCommand::this(["--ignored", "--exact", "--nocapture", "mpi::as_a_rank"]).unwrap();
    const NAMES: [&str; 8] = [
        "MPI_Send",
        "MPI_Recv",
        "MPI_Isend",
        "MPI_Irecv",
        "MPI_Send over TCP",
        "MPI_Recv over TCP",
        "MPI_Isend over TCP",
        "MPI_Irecv over TCP",
    ];
    let start = Instant::now();
    let calls = measured(Some(this));
    assert!(start.elapsed() < Duration::from_secs(400));
    assert_eq!(calls.conditions.not_available.get("mpi"), None);
    // Not every library can be brought to use TCP between two ranks of one machine.
    let no_tcp = calls.conditions.not_available.get("mpi over TCP");
    assert!(calls.conditions.parameters["mpi"].as_str().is_some_and(|version| version.contains("MPI")));
    if no_tcp.is_none() {
        assert_received_from_the_kernel(&calls);
    }
    for name in NAMES.into_iter().filter(|name| no_tcp.is_none() || !name.ends_with("TCP")) {
        let rows: Vec<_> = calls.calls.iter().filter(|call| call.name == name && call.set == "mpi").collect();
        assert!(rows.iter().all(|call| call.wrapped));
        if let Some([cold, warm]) = times(&calls, name) {
            assert!(warm > 0.0 && cold.is_finite(), "{name}: cold {cold} ns, warm {warm} ns");
        } else {
            assert!(calls.conditions.interrupted, "{name}: {:?}", calls.conditions.not_available);
        }
        let user = rows.iter().find(|call| call.side == Side::User && call.code_lines.is_some());
        match user {
            Some(user) => assert!(user.code_lines.unwrap() > 5 && user.counts.INS.is_some(), "{user:?}"),
            None => {
                let known = calls.conditions.not_available.keys().any(|what| what.starts_with(name));
                assert!(calls.conditions.interrupted || known || step::available().is_err());
            }
        }
    }
}

/// Messages waited in the socket until they were received over TCP, or it is said that the library had fetched them before.
fn assert_received_from_the_kernel(calls: &Calls) {
    let waited = calls.conditions.parameters["mpi_in_socket_over_tcp"].as_u64().unwrap();
    match calls.conditions.not_available.get("MPI_Recv over TCP from a socket") {
        Some(why) => assert!(waited <= 10 && why.contains(&format!("{waited} of 20 waited")), "{why}"),
        None => assert!(waited > 10, "{waited} of 20"),
    }
}

#[test]
fn a_program_without_ranks_says_so() {
    let calls = measured(None);
    assert_eq!(calls.calls, []);
    assert!(calls.conditions.not_available["mpi"].contains("does not start itself"));
}

#[test]
fn ranks_that_fail_are_reported() {
    let arguments = ["-c", "echo they fell over >&2; exit 3"].map(Into::into).into();
    let calls = measured(Some(RankCommand { program: "/bin/sh".into(), arguments }));
    let why = &calls.conditions.not_available["mpi"];
    assert!(why.starts_with("no ") || why.contains("two CPUs") || why.contains("they fell over"), "{why}");
}
