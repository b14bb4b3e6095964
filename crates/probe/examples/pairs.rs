//! Time of each pair by `turn`, and how long that took: `cargo run --release --example pairs [METHOD]`.

use std::time::Instant;

use coho_probe::coherence::{Options, measure};
use coho_profile::{Home, PairMethod};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let topology = coho_topology::detect()?;
    let options = Options {
        methods: vec![PairMethod::Turn],
        homes: vec![Home::A],
        passes: 3,
        extra_passes: 0,
        reads: false,
        concurrent: false,
        ..Options::default()
    };
    let start = Instant::now();
    let coherence = measure(&options, &topology, &mut |_| ())?;
    let took = start.elapsed();
    for pair in &coherence.pairs {
        let ns = &pair.ns;
        println!(
            "{} {}: {:.2} ns ({:.2} to {:.2}, ±{:.1} %), {} batches and {} preempted, stable {}",
            pair.a,
            pair.b,
            ns.median,
            ns.low,
            ns.high,
            ns.relative_half_width() * 100.0,
            ns.n,
            pair.preempted_batches,
            ns.stable
        );
    }
    println!("{took:.1?} in all, {:.2} ms of it for pairs", coherence.method.duration_s * 1e3);
    Ok(())
}
