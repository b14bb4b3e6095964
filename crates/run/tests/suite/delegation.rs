//! What the command knows of the library that delegates calls.

use coho_run::delegation::NAMES;

#[test]
fn the_calls_are_the_library_s() {
    assert_eq!(NAMES.to_vec(), coho_delegate_preload::names().collect::<Vec<_>>());
}
