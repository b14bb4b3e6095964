//! Gives the shared library the name that programs linked against it look for.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Not an argument for shared libraries alone, which cargo hands on to those that depend on this one.
    println!("cargo::rustc-link-arg=-Wl,-soname,libcoho_sync.so.0");
}
