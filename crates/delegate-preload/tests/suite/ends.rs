//! However a process ends, what its writes returned for is in the file; where it is killed, a beginning of that.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use coho_testing::{Capability, needs};

use crate::common;

const WRITERS: usize = 4;

/// What a program has left: its status, for each writer how many of its writes had returned, and how many of its lines are in
/// the file, which are in order.
struct Left {
    status: ExitStatus,
    returned: [usize; WRITERS],
    written: [usize; WRITERS],
}

fn run(way: &str, calls: &str) -> Left {
    let folder = tempfile::tempdir().unwrap();
    let program = common::program("ends", &[]);
    let status = common::case(&program, way, folder.path(), calls)
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    let counts = std::fs::read(folder.path().join("counts")).unwrap();
    let returned = std::array::from_fn(|writer| {
        usize::from_ne_bytes(counts[8 * writer..8 * writer + 8].try_into().unwrap())
    });
    let mut written = [0; WRITERS];
    let lines = std::fs::read_to_string(folder.path().join("lines")).unwrap();
    for line in lines.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let (writer, number) = line.trim_end().split_once(' ').unwrap();
        let writer: usize = writer.parse().unwrap();
        assert_eq!(number, written[writer].to_string(), "{way} {calls}: of {writer}");
        written[writer] += 1;
    }
    Left { status, returned, written }
}

const CALLS: [&str; 3] = ["write,pwrite,stat", "write:async", "write:async,pwrite,stat"];

#[test]
fn nothing_is_lost_where_the_process_ends_by_itself() {
    needs!(Capability::CCompiler);
    let ways =
        ["exit", "return", "_exit", "quick_exit", "exec", "execv", "exit_in_handler", "_exit_in_handler"];
    for way in ways.into_iter().chain(["last_thread", "system_call", "cancellation"]) {
        for calls in CALLS {
            let Left { status, returned, written } = run(way, calls);
            assert_eq!(status.code(), Some(0), "{way} {calls}");
            for (returned, written) in returned.into_iter().zip(written) {
                assert!(returned >= 200 && written >= returned, "{way} {calls}: {returned}, {written}");
            }
        }
    }
}

#[test]
fn what_a_thread_wrote_before_it_ends_the_process_is_there() {
    needs!(Capability::CCompiler);
    for (way, signal) in [
        ("abort", libc::SIGABRT),
        ("assert", libc::SIGABRT),
        ("raise", libc::SIGTERM),
        ("kill", libc::SIGKILL),
    ] {
        for calls in CALLS {
            let Left { status, returned, written } = run(way, calls);
            // `timeout` ends as its program does.
            let by = status.signal().or(status.code().map(|code| code - 128));
            assert_eq!(by, Some(signal), "{way} {calls}");
            assert_eq!((returned[WRITERS - 1], written[WRITERS - 1]), (300, 300), "{way} {calls}");
        }
    }
}
