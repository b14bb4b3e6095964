//! Writes the profiles of machines whose times between CPUs a publication has as a matrix, named in its `paper.toml`:
//! `cargo run -p coho-model --example matrices`.

use std::fs;
use std::path::Path;

use coho_model::{Matrix, coherence_from_matrix};
use coho_profile::published::{MatrixFile, PAPERS};
use coho_profile::{Coherence, Host, PairMethod, Profile, TimeMatrix};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../profile/src/published");
    for paper in PAPERS.iter() {
        for (machine, file) in &paper.matrices {
            fs::write(folder.join(paper.name).join(format!("{machine}.json")), profile(file)?.to_json())?;
        }
    }
    Ok(())
}

/// The profile of a matrix that was measured as core-to-core-latency does, in hundredths of a ns.
pub fn profile(file: &MatrixFile) -> Result<Profile, Box<dyn std::error::Error>> {
    let text = fs::read_to_string(coho_testing::data(&format!("matrices/{}", file.file)))?;
    let matrix = Matrix::parse(&text)?;
    let rounded = |ns: f64| (100.0 * ns).round() / 100.0;
    let mut coherence = Coherence {
        pairs: Vec::new(),
        matrix: Some(TimeMatrix::new(matrix.len(), |a, b| matrix.between(a, b).map(rounded))),
        matrix_method: PairMethod::Turn,
        ..coherence_from_matrix(&matrix)
    };
    coherence.method.description = format!("published as {}", file.file);
    let host = Host { cpu: Some(file.cpu.clone()), ..Host::default() };
    Ok(Profile { host: Some(host), coherence: Some(coherence), ..Profile::default() })
}
