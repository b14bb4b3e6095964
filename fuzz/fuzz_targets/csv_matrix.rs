//! Matrices of core-to-core times: CSV, printed tables, lists of pairs.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = coho_model::Matrix::parse(text);
});
