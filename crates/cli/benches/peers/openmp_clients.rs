//! Programs of others, unmodified, with libgomp and on coho's teams in turn.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::turns::{middle_half, ratio};

/// Prints what each took, or why it could not be run.
pub fn run(quick: bool) {
    println!("Programs of others, 2 threads: libgomp's time / coho's");
    match picture(if quick { 3 } else { 9 }) {
        Ok(line) => println!("  {line}"),
        Err(why) => println!("  GraphicsMagick: not available: {why}"),
    }
    println!();
}

/// Blurs, turns and sharpens a picture; both must make the same one.
fn picture(rounds: usize) -> Result<String, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let pictures = ["libgomp.ppm", "coho.ppm"].map(|name| folder.join(name));
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let [libgomp, coho] = [
            time(Command::new("gm"), &pictures[0])?,
            time(crate::openmp_table::on_coho("gm".as_ref()), &pictures[1])?,
        ];
        let [one, other] = pictures.each_ref().map(|path: &PathBuf| std::fs::read(path));
        if one.map_err(|error| error.to_string())? != other.map_err(|error| error.to_string())? {
            return Err("the two pictures differ".into());
        }
        ratios.push(libgomp / coho);
    }
    let (low, high) = middle_half(&ratios);
    Ok(format!(
        "GraphicsMagick, the same picture: {} x ({low:.2}-{high:.2}; the middle half of {rounds} rounds)",
        ratio(&ratios, 1)
    ))
}

fn time(mut command: Command, to: &Path) -> Result<f64, String> {
    let words = "convert -size 1000x1000 gradient:red-blue -blur 0x4 -rotate 33 -sharpen 0x2 -resize 600x600";
    command.args(words.split(' ')).arg(to).env("OMP_NUM_THREADS", "2");
    let begun = Instant::now();
    let output = command.output().map_err(|error| format!("gm: {error}"))?;
    let seconds = begun.elapsed().as_secs_f64();
    if output.status.success() {
        Ok(seconds)
    } else {
        Err(format!("gm ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
    }
}
