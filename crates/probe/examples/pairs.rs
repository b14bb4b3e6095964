//! Time of each pair by `turn`, and how long measuring a pair takes, including the hand-off: `cargo run --release
//! --example pairs`.

use coho_probe::coherence::Options;
use coho_probe::{Around, Experiment};
use coho_profile::{Home, PairMethod};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options {
        methods: vec![PairMethod::Turn],
        homes: vec![Home::A],
        passes: 3,
        extra_passes: 0,
        reads: false,
        concurrent: false,
        ..Options::default()
    };
    let coherence = options.measure(&mut Around::new(&coho_topology::detect()?, &mut |_| ()))?;
    for pair in &coherence.pairs {
        let ns = &pair.ns;
        println!(
            "{} {}: {:.2} ns ({:.2} to {:.2}, ±{:.1} %), {} batches and {} preempted, {} modes, stable {}",
            pair.a,
            pair.b,
            ns.median,
            ns.low,
            ns.high,
            ns.relative_half_width() * 100.0,
            ns.n,
            pair.preempted_batches,
            ns.modes.len(),
            ns.stable == Some(true)
        );
    }
    println!("{} ms a pair", coherence.method.parameters["ms_per_pair"]);
    Ok(())
}
