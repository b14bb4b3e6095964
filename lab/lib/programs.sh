# shellcheck shell=sh disable=SC2154
# What runs in every guest, with this machine's C library: coho, and the C programs of lab/guest that the cases name.

# Why cases with C programs cannot be run; empty if they can.
no_programs=

wants_programs() {
    [ -n "$(section programs "$1")" ]
}

# Sets `coho` to the program under test. As times in a guest mean nothing, it is not optimised.
find_coho() {
    coho=${LAB_COHO:-$root/target/debug/coho}
    [ -n "${LAB_COHO:-}" ] ||
        bounded 1800 cargo build --quiet --locked --manifest-path "$root/Cargo.toml" --target-dir "$root/target" -p coho || {
        echo "lab: coho does not build" >&2
        exit 1
    }
    [ -x "$coho" ] || { echo "lab: '$coho' is not a program" >&2; exit 2; }
}

# Sets `programs` to the names of the cases' C programs, or `no_programs` to why they cannot be built.
find_programs() {
    programs=$(for name; do section programs "$lab/cases/$name.case"; done | sort -u)
    [ -z "$programs" ] || command -v cc > /dev/null || no_programs="no C compiler for the guest's programs"
}

# Puts coho, the C programs, and the libraries that these need into the tree.
add_programs() {
    strip -o "$1/bin/coho" "$coho" || return
    [ -n "$no_programs" ] || for program in $programs; do
        cc -O1 -o "$1/bin/$program" "$lab/guest/$program.c" || return
    done
    # Nothing of a static program.
    for program in coho $programs; do
        ldd "$1/bin/$program" 2> /dev/null
    done | awk '$2 == "=>" && $3 ~ "^/" { print $3 } $1 ~ "^/" && $2 ~ "^\\(" { print $1 }' | sort -u |
        while read -r library; do
            mkdir -p "$1$(dirname "$library")" && cp -L "$library" "$1$library" || return
        done
}
