//! Takes in the publications: every folder of `src/published`, each with all of its files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("src/published");
    println!("cargo::rerun-if-changed=src/published");
    let mut code = "&[\n".to_owned();
    for folder in entries(&root)?.iter().filter(|path| path.is_dir()) {
        let _ = writeln!(code, "    ({:?}, &[", name(folder));
        for file in entries(folder)? {
            let _ = writeln!(code, "        ({:?}, include_str!({file:?})),", name(&file));
        }
        code.push_str("    ]),\n");
    }
    code.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("published.rs"), code)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
