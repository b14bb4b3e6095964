//! Links the command at a fixed address, unless COHO_PIE is set: its tens of thousands of pointers into itself are then
//! part of the file, and not written at each start.

use std::env::{var, var_os};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=COHO_PIE");
    // A static program is position-independent as well, and the option would make it dynamic.
    let is_static =
        var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|all| all.split(',').any(|one| one == "crt-static"));
    if var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu") && !is_static && var_os("COHO_PIE").is_none()
    {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
