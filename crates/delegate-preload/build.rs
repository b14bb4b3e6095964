//! Keeps the library loaded once it is: its hosts run in it, and the process calls it when it ends.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
