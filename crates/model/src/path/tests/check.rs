//! Predictions beside measured messages.

use coho_profile::TransferPass;

use super::*;

/// A host moved a CPU between two passes: each pass agrees with itself, and their medians would not.
#[test]
fn a_message_is_held_against_the_parts_of_its_own_pass() {
    let pass = |flag: f64, send, receive, ns| TransferPass {
        line_receive_ns: 5.0 + receive / 2.0,
        ns,
        send_ns: send + 5.0,
        receive_ns: receive + 5.0,
        least_ns: flag,
        // What reading the clock takes, of any message.
        least_send_ns: 5.0,
        least_receive_ns: 5.0,
    };
    let near = pass(50.0, 20.0, 30.0, 100.0);
    let far = pass(260.0, 20.0, 120.0, 400.0);
    let mut message = transfer("shared-memory", 1, 1024, [0.0, 100.0, 0.0]);
    message.passes = vec![near, far, near];
    let checks = check_within(&[message.clone()]).unwrap();
    assert!((checks[0].predicted_ns.0 - 100.0).abs() < 1e-9, "{checks:?}");
    // The time shown is one that was predicted, and the error compares it with the measured time shown.
    message.passes = [170.0, 165.0, 105.0].map(|ns| pass(50.0, 20.0, 30.0, ns)).to_vec();
    message.ns = Some(Estimate::exact(140.0));
    let checks = check_within(&[message.clone()]).unwrap();
    assert!((checks[0].predicted_ns.0 - 100.0).abs() < 1e-9, "not 100 / 165 of 140 ns: {checks:?}");
    assert!((checks[0].error - (100.0 / 140.0 - 1.0)).abs() < 1e-9, "{checks:?}");
    // Of a short one the line that comes along with the flag is not paid twice.
    message.bytes = 256;
    message.passes = vec![pass(50.0, 20.0, 30.0, 85.0)];
    message.ns = Some(Estimate::exact(85.0));
    assert!(check_within(&[message.clone()]).unwrap()[0].error.abs() < 1e-9);
    message.bytes = 64;
    message.passes = vec![pass(50.0, 20.0, 30.0, 70.1)];
    message.ns = Some(Estimate::exact(70.1));
    assert!(check_within(&[message]).unwrap()[0].error.abs() < 2e-3, "it is that line");
}

fn parts() -> Vec<Transfer> {
    [(1, 50.0), (2, 90.0)]
        .into_iter()
        .flat_map(|(to, flag)| {
            [
                transfer("shared-memory", to, 0, [0.0, flag, 0.0]),
                transfer("shared-memory", to, 1000, [1000.0, 7777.0, 500.0]),
            ]
        })
        .collect()
}

#[test]
fn a_message_takes_both_ends_and_the_flag_of_its_own_cpus() {
    let whole =
        [(2, 2000.0), (1, 1600.0)].map(|(to, ns)| transfer("shared-memory", to, 1000, [0.0, ns, 0.0]));
    let checks = check(&parts(), &whole).unwrap();
    assert_eq!(
        checks[0].predicted_ns,
        Ns(1000.0 + 90.0 + 500.0),
        "the whole of the parts' message is not used"
    );
    assert_eq!(checks[1].predicted_ns, Ns(1000.0 + 50.0 + 500.0));
    assert!((checks[0].error - (1590.0 / 2000.0 - 1.0)).abs() < 1e-12);
    let median = median_error(&checks).unwrap();
    assert!((median - 50.0 / 1600.0).abs() < 1e-12, "the lower of two: {median}");
    assert!((largest_error(&checks).unwrap() - (1.0 - 1590.0 / 2000.0)).abs() < 1e-12);
    assert_eq!((median_error(&[]), largest_error(&[])), (None, None));
}

/// Beyond a packet both ends are at work at the same time.
#[test]
fn messages_over_tcp_overlap_packet_by_packet() {
    let parts = [
        transfer("tcp-loopback", 1, 1, [3000.0, 5000.0, 500.0]),
        transfer("tcp-loopback", 1, 65536, [20_000.0, 1.0, 10_000.0]),
        transfer("tcp-loopback", 1, 4 * 65536, [80_000.0, 1.0, 40_000.0]),
    ];
    // 3500 of the 5000 ns of the least message are its ends' own.
    let predicted: Vec<Ns> = check(&parts, &parts).unwrap().iter().map(|check| check.predicted_ns).collect();
    let packet = 20_000.0 + 1500.0 + 10_000.0;
    assert_eq!(predicted, [packet, packet + 3.0 * 20_000.0].map(Ns));
}

#[test]
fn what_is_lacking_is_asked_for_and_what_is_no_path_passed_over() {
    let whole = [transfer("shared-memory", 1, 64, [0.0, 100.0, 0.0])];
    let error = check(&[], &whole).unwrap_err().to_string();
    assert!(
        error.contains("shared-memory, line") && error.contains("coho memory --parts transfers"),
        "{error}"
    );
    let mut untimed = parts();
    untimed.iter_mut().for_each(|part| part.send_ns = None);
    assert!(check(&untimed, &whole).is_err(), "the parts have no times");
    assert_eq!(check(&parts(), &[transfer("process-vm", 1, 64, [0.0, 1.0, 0.0])]), Ok(Vec::new()));
    assert_eq!(check(&parts(), &parts()[..1]), Ok(Vec::new()), "the flag is a part");
}
