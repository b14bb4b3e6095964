# shellcheck shell=sh disable=SC2154
# The program under test.

# Sets `coho` to a static binary: the guest has no libraries. Its flags would rebuild everything else, hence a target
# folder of its own; and as times in a guest mean nothing, it is not optimised beyond what builds fast.
find_coho() {
    coho=${LAB_COHO:-}
    if [ -n "$coho" ]; then
        [ -x "$coho" ] || { echo "lab: LAB_COHO: '$coho' is not a program" >&2; exit 2; }
        return 0
    fi
    target=x86_64-unknown-linux-gnu
    bounded 1800 env RUSTFLAGS="-C target-feature=+crt-static -C strip=symbols" \
        CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0 \
        cargo build --quiet --release --locked --manifest-path "$root/Cargo.toml" \
        --target "$target" --target-dir "$root/target/lab" -p coho --no-default-features || {
        echo "lab: coho does not build for the guest" >&2
        exit 1
    }
    coho=$root/target/lab/$target/release/coho
}
