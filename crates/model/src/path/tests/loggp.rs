//! LogGP's parameters of a path.

use super::*;

#[test]
fn loggp_takes_a_path_apart() {
    let path = resolve(WHOLE).unwrap();
    let view = path.loggp(&path.variants[0], 0);
    assert_eq!((view.o_send_ns, view.o_receive_ns), (Some(Ns(80.0 + 256.0)), Some(Ns::ZERO)));
    assert_eq!((view.L_ns, view.g_ns), (Some(Ns(7.0 + 512.0)), Ns(519.0)));
    assert!((view.G_ns_per_byte.0 - 1.0).abs() < 1e-12, "{view:?}");
}

#[test]
fn overhead_is_of_the_side_whose_cpu_is_busy() {
    let text = WHOLE.replace(
        "kind = \"dma\"\nrate = \"table\"",
        "kind = \"copy\"\nside = \"receiver\"\nrate = \"table\"",
    );
    let path = resolve(&text).unwrap();
    // The table begins at 512 B and says nothing about less.
    let view = path.loggp(&path.variants[0], 0);
    assert_eq!(
        (view.bytes, view.o_send_ns, view.o_receive_ns),
        (512.0, Some(Ns(80.0 + 256.0)), Some(Ns(7.0 + 512.0)))
    );
    assert_eq!(view.L_ns, Some(Ns::ZERO), "the ends take all of it, one after the other");
    // A variant with only the receiver's stage has no overhead at the sender, and that must not be -0.
    let view = path.loggp(&path.variants[1], 0);
    assert!(view.o_send_ns.is_some_and(|o| o == Ns::ZERO && o.0.is_sign_positive()), "{view:?}");
    let (line, told) = wrong(&WHOLE.replace("kind = \"dma\"", "kind = \"dma\"\nside = \"receiver\""));
    assert!(line == Some(15 + 1) && told.starts_with("'side' says whose CPU is busy"), "{line:?} {told}");
}

#[test]
fn between_two_cpus_both_have_overhead_and_the_flag_is_latency() {
    let machine = messages(&[
        ("shared-memory", 0, [0.0, 100.0, 0.0]),
        ("shared-memory", 1024, [64.0, 180.0, 32.0]),
        ("process-vm", 1024, [10.0, 900.0, 800.0]),
    ]);
    let path = ready::file("shared-memory").unwrap().resolve(Some(&machine)).unwrap();
    let view = path.loggp(&path.variants[0], 0);
    assert_eq!([view.o_send_ns, view.o_receive_ns, view.L_ns], [64.0, 32.0, 100.0].map(|ns| Some(Ns(ns))));
    let path = ready::file("eager").unwrap().resolve(Some(&machine)).unwrap();
    for variant in path.variants.iter().filter(|variant| variant.name.ends_with("by constants")) {
        let view = path.loggp(variant, 0);
        assert!(view.o_receive_ns > Some(Ns::ZERO), "{}: {view:?}", variant.name);
    }
}

/// 0 would say that no CPU is busy, or that nothing is on its way.
#[test]
fn what_loggp_cannot_tell_is_none() {
    let path = resolve(WHOLE).unwrap();
    let view = path.loggp(&path.variants[1], 0);
    assert_eq!([view.o_send_ns, view.o_receive_ns, view.L_ns], [None; 3], "a bus alone: {view:?}");
    let machine = messages(&[
        ("tcp-loopback", 1, [4000.0, 4900.0, 1700.0]),
        ("tcp-loopback", 65536, [20_000.0, 1.0, 10_000.0]),
    ]);
    let path = ready::file("tcp-loopback").unwrap().resolve(Some(&machine)).unwrap();
    let view = path.loggp(&path.variants[0], 0);
    assert!(view.o_send_ns.is_some() && view.o_receive_ns.is_some() && view.L_ns.is_none(), "{view:?}");
}
