//! Profiles.
#![no_main]

use coho_profile::Profile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Profile::from_json(text);
});
