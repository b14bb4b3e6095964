//! The committed header matches the source. `COHO_BLESS=1 cargo test -p coho-sync --test suite header` writes it.

use std::path::Path;

#[test]
fn the_header_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    // It follows the module's own modules: naming their files too would declare everything twice.
    let builder = cbindgen::Builder::new().with_config(config).with_src(root.join("src/ffi/mod.rs"));
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = root.join("include/coho_sync.h");
    if std::env::var_os("COHO_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == committed,
        "include/coho_sync.h is not what src/ffi makes; run with COHO_BLESS=1 to write it"
    );
}

#[test]
fn the_shared_library_exports_what_is_listed() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/coho_sync.symbols");
    coho_testing::assert_exports("coho_sync", &list);
}
