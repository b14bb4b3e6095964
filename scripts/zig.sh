# shellcheck shell=bash
# For scripts that build what runs elsewhere: tools from PyPI, and settings by which two builds of a commit are the same.

tools=$PWD/target/tools
[ -x "$tools/bin/pip" ] || python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check maturin==1.16.0 cargo-zigbuild==0.24.1 ziglang==0.17.1
export PATH="$tools/bin:$PATH"

# No folder of this machine stands in what is built, and its time is the commit's. The standard library's sources, if
# they are installed, are named as where they are not.
library="$(rustc --print sysroot)/lib/rustlib/src/rust=/rustc/$(rustc -vV | sed -n 's/^commit-hash: //p')"
RUSTFLAGS="--remap-path-prefix=$PWD=coho --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
export RUSTFLAGS="$RUSTFLAGS --remap-path-prefix=$library"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.toml)}
export SOURCE_DATE_EPOCH

# check_names FOLDER: each shared library below it has its own name, or none, as those that are preloaded. The loader
# would take one with another's name for that one, as it is to do with ThreadSanitizer's runtime alone.
check_names() {
    local library name
    find "$1" -type f -name '*.so*' | while read -r library; do
        name=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
        case ${library##*/} in
        "$name") continue ;;
        libcoho_tsan.so) [ "$name" != libtsan.so.2 ] || continue ;;
        *.so) [ -n "$name" ] || continue ;;
        esac
        echo "$library has the name '$name'" >&2
        return 1
    done
}
