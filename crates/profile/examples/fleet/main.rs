//! Writes the profiles of a fleet that does not exist: `cargo run -p coho-profile --example fleet -- DIR SMALL [LARGE [SEED]]`.
//! `DIR/planted.tsv` lists the machines with a fault, and the figure or fact that shows it.

mod generate;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, numbers @ ..] = &words[..] else {
        return Err("give a folder and a number of machines".into());
    };
    let number = |at: usize| numbers.get(at).map_or(Ok(0), |text| text.parse::<u64>());
    let (small, large, seed) = (number(0)?, number(1)?, number(2)?);
    let folder = Path::new(folder);
    fs::create_dir_all(folder)?;
    let mut planted = BufWriter::new(File::create(folder.join("planted.tsv"))?);
    for (number, large) in
        (0..small).map(|number| (number, false)).chain((0..large).map(|number| (number, true)))
    {
        let machine = generate::machine(seed, number, large);
        machine.profile.write(&folder.join(format!("{}.json", machine.name)))?;
        if let Some(fault) = machine.fault {
            writeln!(planted, "{}\t{}", machine.name, fault.shows_in())?;
        }
    }
    Ok(planted.flush()?)
}
