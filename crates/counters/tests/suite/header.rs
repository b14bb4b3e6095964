//! The committed C header matches the sources.

use std::path::Path;
use std::{env, fs};

#[test]
fn the_header_is_that_of_the_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let sources =
        ["status", "clock", "counter", "group"].map(|name| folder.join(format!("src/ffi/{name}.rs")));
    let builder = sources
        .into_iter()
        .fold(cbindgen::Builder::new().with_config(config), |builder, source| builder.with_src(source));
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let header = folder.join("include/coho_counters.h");
    if env::var_os("COHO_BLESS").is_some() {
        fs::write(&header, &made).unwrap();
    }
    let committed = fs::read_to_string(&header).unwrap();
    assert!(
        committed == made,
        "{} is out of date: COHO_BLESS=1 cargo test -p coho-counters --test suite header",
        header.display()
    );
}

#[test]
fn the_shared_library_exports_what_is_listed() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/coho_counters.symbols");
    coho_testing::assert_exports("coho_counters", &list);
}
