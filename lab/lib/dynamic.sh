# shellcheck shell=sh disable=SC2154
# Guests with dynamic programs, into which libraries can be preloaded: `coho-dynamic`, which is coho as this machine builds
# it, the C programs of lab/guest that the case names, and this machine's C library.

# Why cases with dynamic programs cannot be run; empty if they can.
no_dynamic=

wants_dynamic() {
    [ -n "$(section dynamic "$1")" ]
}

# Makes $work/dynamic.cpio, if one of these cases wants dynamic programs.
find_dynamic() {
    programs=$(for name; do section dynamic "$lab/cases/$name.case"; done | sort -u)
    [ -n "$programs" ] || return 0
    for need in cc strip ldd; do
        command -v "$need" > /dev/null || { no_dynamic="no $need for the guest's programs"; return 0; }
    done
    tree=$work/dynamic
    mkdir -p "$tree/bin"
    bounded 1800 cargo build --quiet --locked --manifest-path "$root/Cargo.toml" --target-dir "$root/target" -p coho ||
        { echo "lab: coho does not build" >&2; exit 1; }
    strip -o "$tree/bin/coho-dynamic" "$root/target/debug/coho" || exit 1
    for program in $programs; do
        cc -O1 -o "$tree/bin/$program" "$lab/guest/$program.c" || exit 1
    done
    ldd "$tree"/bin/* | awk '$2 == "=>" && $3 ~ "^/" { print $3 } $1 ~ "^/" && $2 ~ "^\\(" { print $1 }' | sort -u |
        while read -r library; do
            mkdir -p "$tree$(dirname "$library")" && cp -L "$library" "$tree$library"
        done
    pack "$tree" > "$work/dynamic.cpio"
}
