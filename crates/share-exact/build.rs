//! Gives the library the name by which programs ask for gcc's runtime, so that the loader takes this one, which is
//! loaded already; and keeps it loaded once it is, as the program's code calls it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtsan.so.2");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
