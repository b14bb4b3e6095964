//! Packs a shared library that cargo has just built into the program that is being compiled.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use proc_macro::{Group, Literal, TokenStream, TokenTree};

/// `pack!("coho_pin")` is `Some((hash, size, deflated))` for the shared library `libcoho_pin.so` of a crate that the
/// program depends on: a hash of the file as 16 hexadecimal digits, the file's size in bytes, and the file as a zlib
/// stream. It is `None` where cargo builds no shared library, as for a static program, or no program, as for
/// `cargo check`.
///
/// Only a program may call it: cargo compiles a library while the libraries that it depends on are still being linked.
#[proc_macro]
pub fn pack(name: TokenStream) -> TokenStream {
    let name = name.to_string();
    match library(name.trim_matches('"')).and_then(|path| fs::read(path).ok()) {
        Some(file) => packed(&file),
        None => "::core::option::Option::None".parse().expect("it is an expression"),
    }
}

fn packed(file: &[u8]) -> TokenStream {
    let mut hasher = DefaultHasher::new();
    file.hash(&mut hasher);
    let deflated = miniz_oxide::deflate::compress_to_vec_zlib(file, 9);
    let fields = [
        Literal::string(&format!("{:016x}", hasher.finish())),
        Literal::usize_suffixed(file.len()),
        Literal::byte_string(&deflated),
    ];
    let comma: TokenStream = ",".parse().expect("it is a token");
    let fields = fields.into_iter().flat_map(|field| [TokenTree::from(field).into(), comma.clone()]);
    let tuple = Group::new(proc_macro::Delimiter::Parenthesis, fields.collect());
    let argument = Group::new(proc_macro::Delimiter::Parenthesis, TokenTree::from(tuple).into());
    let mut call: TokenStream = "::core::option::Option::Some".parse().expect("it is a path");
    call.extend([TokenTree::from(argument)]);
    call
}

/// The shared library of a crate. Cargo names the crate's Rust library to the compiler, `--extern
/// coho_pin=…/libcoho_pin-1f2e3d.rlib`, and one run of the compiler writes both into the same folder. Where nothing is
/// linked, it names an `.rmeta` file.
fn library(name: &str) -> Option<PathBuf> {
    let start = format!("{name}=");
    let crates = env::args_os().filter_map(|argument: OsString| argument.into_string().ok());
    let path = crates.filter_map(|argument| argument.strip_prefix(&start).map(PathBuf::from)).next()?;
    (path.extension()? == "rlib").then(|| path.with_file_name(format!("lib{name}.so")))
}
