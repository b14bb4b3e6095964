//! Transfer paths, with the paper's profile for what they ask of one.
#![no_main]

use coho_model::path::{PathFile, ready};
use coho_profile::{Ns, published};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(file) = PathFile::parse("path", text, &ready::load) else { return };
    let paper = published::read("hamada-dimmnet").expect("it is built in").machines.remove(0).1;
    let Ok(path) = file.resolve(Some(&paper)) else { return };
    for variant in &path.variants {
        for bytes in [1.0, 4096.0, 1e9] {
            assert!(variant.time(bytes, Ns(1.0), 0) >= Ns::ZERO);
        }
        let view = path.loggp(variant, 0);
        assert!(
            [view.o_send_ns, view.o_receive_ns, view.L_ns]
                .iter()
                .flatten()
                .all(|time| time.0.is_sign_positive())
        );
    }
    for figure in path.figures.iter().take(1) {
        assert!(
            path.points(figure)
                .iter()
                .all(|point| point.time_a_ns >= Ns::ZERO && point.time_b_ns >= Ns::ZERO)
        );
    }
    let _ = path.stated().take(4).count();
    for crossover in path.crossovers.iter().take(1) {
        let _ = path.crossings(crossover, 0);
    }
});
