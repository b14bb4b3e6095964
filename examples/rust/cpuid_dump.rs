//! Prints the CPUID answers of this machine's CPUs, as text that `coho_topology::cpuid::parse` reads.

use coho_topology::cpuid;

fn main() {
    match cpuid::allowed_cpus().and_then(|cpus| cpuid::live(&cpus)) {
        Ok(dump) => print!("{dump}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
