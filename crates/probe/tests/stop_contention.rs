//! A stop by signal while CPUs contend, in a process of its own as it stops everything.

use coho_platform::stop;
use coho_probe::contention::{Options, measure};
use coho_profile::LineOperation;

#[test]
fn a_signal_keeps_what_was_measured() {
    coho_testing::default_signals();
    stop::on_signals().unwrap();
    let options = Options { threads: vec![1], quick: true, ..Options::default() };
    let topology = coho_topology::detect().unwrap();
    let contention = measure(&options, &topology, &mut |progress| {
        if progress.done == 2 {
            // SAFETY: the handlers are installed.
            unsafe { libc::raise(libc::SIGINT) };
        }
    })
    .unwrap();
    assert!(stop::requested() && contention.method.interrupted);
    assert_eq!(contention.rows.len(), 2, "two operations had their turn");
    let reasons = contention.method.not_available.len();
    assert!(reasons >= LineOperation::ALL.len() - 2, "{:?}", contention.method.not_available);
}
