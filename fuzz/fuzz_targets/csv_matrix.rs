//! Matrices of core-to-core times in CSV.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = coho_model::Matrix::parse_csv(text);
});
