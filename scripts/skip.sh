# shellcheck shell=sh
# What a script of `make test` does if the machine lacks what it needs.

# note_skip WHO CAPABILITY WHY: says what is missing, and notes it in the file that COHO_TEST_SKIPS names, as the tests in
# Rust do (crates/testing). scripts/test knows the capabilities.
note_skip() {
    echo "$1: skipped: $2: $3"
    [ -z "${COHO_TEST_SKIPS:-}" ] || printf '%s\t%s\t%s\n' "$2" "$1" "$3" >>"$COHO_TEST_SKIPS"
}
