# shellcheck shell=bash
# For scripts that build what runs elsewhere: tools from PyPI, and settings by which two builds of a commit are the same.

tools=$PWD/target/tools
[ -x "$tools/bin/pip" ] || python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check maturin==1.16.0 cargo-zigbuild==0.24.1 ziglang==0.17.1
export PATH="$tools/bin:$PATH"

# No folder of this machine stands in what is built, and its time is the commit's.
export RUSTFLAGS="--remap-path-prefix=$PWD=coho --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.toml)}
export SOURCE_DATE_EPOCH
