//! Programs that compilers build for tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};

/// A program, compiled so, and where its symbols lie.
pub(super) fn built(
    folder: &Path,
    compiler: &str,
    name: &str,
    text: &str,
    options: &[&str],
) -> (PathBuf, impl Fn(&str) -> u64 + use<>) {
    let source = folder.join(name);
    let program = source.with_extension("");
    std::fs::write(&source, text).unwrap();
    let mut compiler = Command::new(compiler);
    let compiled = compiler.args(options).arg("-o").arg(&program).arg(&source).status().unwrap();
    assert!(compiled.success());
    let bytes = std::fs::read(&program).unwrap();
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*bytes).unwrap();
    let symbols: Vec<(String, u64)> =
        file.symbols().map(|symbol| (symbol.name().unwrap_or("").to_owned(), symbol.address())).collect();
    (program, move |name: &str| symbols.iter().find(|(known, _)| known == name).unwrap().1)
}
