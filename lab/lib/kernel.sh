# shellcheck shell=sh disable=SC2154
# What the lab needs from outside: QEMU and tools from the machine, Debian's kernels and static BusyBox from its archive.

need_commands() {
    [ "$(uname -m)" = x86_64 ] || skip x86-64 "the guests are x86_64, this machine is $(uname -m)"
    missing=
    for need in qemu-system-x86_64:qemu-system-x86 cpio:cpio jq:jq timeout:coreutils; do
        command -v "${need%%:*}" > /dev/null || missing="$missing ${need#*:}"
    done
    [ -z "$missing" ] || skip qemu "not installed:$missing (apt-get install --no-install-recommends$missing)"
}

# Sets `busybox` to a static one, as the guest has no libraries: the installed one, or Debian's from the cache, since
# installing its package would replace a dynamic one.
find_busybox() {
    busybox=$(command -v busybox) && is_static "$busybox" && return 0
    busybox=$cache/busybox
    [ -x "$busybox" ] || fetch unpack_busybox || skip static-busybox "no static busybox to be had: $(tail -n 1 "$work/apt.log")"
}

is_static() {
    ! ldd "$1" > /dev/null 2>&1
}

# Sets `kernel` to the cloud kernel's bzImage. The package is downloaded and unpacked once, into lab/cache, and never
# installed.
find_kernel() {
    kernel=$(cached_kernel)
    [ -z "$kernel" ] || return 0
    fetch unpack_kernel || skip guest-kernel "no cloud kernel to be had: $(tail -n 1 "$work/apt.log")"
    kernel=$(cached_kernel)
    [ -n "$kernel" ] || skip guest-kernel "the package holds no kernel"
}

# fetch UNPACK: lets a function download and unpack packages, and tries again with new package lists if it fails, as they
# may be missing or old. Its output is in $work/apt.log.
fetch() {
    for need in apt-get apt-cache dpkg-deb; do
        command -v "$need" > /dev/null || { echo "not in $cache, and no $need to fetch it with" > "$work/apt.log"; return 1; }
    done
    "$1" && return 0
    [ "$(id -u)" -eq 0 ] && bounded 120 apt-get -qq update > "$work/apt.log" 2>&1
    "$1"
}

cached_kernel() {
    find "$cache" -name 'vmlinuz-*-cloud-amd64' 2> /dev/null | sort -V | tail -n 1
}

# The package that a metapackage depends on.
kernel_package() {
    apt-cache depends "$1" 2> /dev/null | awk '/Depends:/ { print $2; found = 1; exit } END { exit !found }' ||
        { echo "apt knows no $1 (apt-get update, on Debian)" > "$work/apt.log"; return 1; }
}

# Into a folder of the scratch first: an interrupted download leaves no half a kernel in the cache.
unpack_kernel() {
    package=$(kernel_package linux-image-cloud-amd64) && download "$work/kernel" "$package" || return 1
    unpack "$work/kernel" ./boot && mv "$work/kernel/boot/"vmlinuz-* "$cache/" 2>> "$work/apt.log"
}

unpack_busybox() {
    download "$work/busybox" busybox-static && unpack "$work/busybox" ./bin/busybox &&
        mv "$work/busybox/bin/busybox" "$busybox" 2>> "$work/apt.log"
}

# download FOLDER PACKAGE…: the packages' files, and nothing else, in that folder.
download() {
    to=$1
    shift
    rm -rf "$to" && mkdir -p "$cache" "$to" 2> "$work/apt.log" || return 1
    bounded 300 env -C "$to" apt-get -qq download "$@" > "$work/apt.log" 2>&1
}

# unpack FOLDER MEMBER…: these members of the packages there.
unpack() {
    from=$1
    shift
    for package in "$from"/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -xf - -C "$from" "$@" >> "$work/apt.log" 2>&1 || return 1
    done
}

