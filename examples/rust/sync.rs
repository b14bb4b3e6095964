//! A sum on a team of two threads.

use coho_sync::{Schedule, Team};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut team = Team::new(2)?;
    let sum = team.parallel_reduce(0..100, Schedule::Static, || 0, |sum, i| sum + i * i, |a, b| a + b);
    println!("{sum}");
    Ok(())
}
