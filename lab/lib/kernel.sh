# shellcheck shell=sh disable=SC2154
# What the lab needs from outside: QEMU and tools from the machine, Debian's cloud kernel from its archive.

need_commands() {
    [ "$(uname -m)" = x86_64 ] || skip "the guests are x86_64, this machine is $(uname -m)"
    missing=
    for need in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio jq:jq timeout:coreutils; do
        command -v "${need%%:*}" > /dev/null || missing="$missing ${need#*:}"
    done
    [ -z "$missing" ] || skip "not installed:$missing (apt-get install --no-install-recommends$missing)"
    # The guest has no libraries.
    ! ldd "$(command -v busybox)" > /dev/null 2>&1 || skip "busybox is not static (apt-get install busybox-static)"
}

# Sets `kernel` to a bzImage. The package is downloaded and unpacked once, into lab/cache, and never installed.
find_kernel() {
    cache=$lab/cache
    kernel=$(cached_kernel)
    [ -z "$kernel" ] || return 0
    for need in apt-get apt-cache dpkg-deb; do
        command -v "$need" > /dev/null || skip "no cloud kernel in $cache, and no $need to fetch it with"
    done
    package=$(kernel_package)
    unpack_kernel "$package" || {
        # The package lists may be missing or old.
        [ "$(id -u)" -eq 0 ] && bounded 120 apt-get -qq update > "$work/apt.log" 2>&1
        package=$(kernel_package)
        unpack_kernel "$package"
    } || skip "no cloud kernel to be had: $(tail -n 1 "$work/apt.log")"
    kernel=$(cached_kernel)
    [ -n "$kernel" ] || skip "$package holds no kernel"
}

cached_kernel() {
    find "$cache" -name 'vmlinuz-*-cloud-amd64' 2> /dev/null | sort -V | tail -n 1
}

# The package that the metapackage stands for.
kernel_package() {
    apt-cache depends linux-image-cloud-amd64 2> /dev/null | awk '/Depends:/ { print $2; exit }'
}

# Into a folder of the scratch first: an interrupted download leaves no half a kernel in the cache.
unpack_kernel() {
    [ -n "$1" ] || { echo "apt knows no linux-image-cloud-amd64 (apt-get update, on Debian)" > "$work/apt.log"; return 1; }
    mkdir -p "$cache" "$work/kernel" 2> "$work/apt.log" || return 1
    bounded 300 env -C "$work/kernel" apt-get -qq download "$1" > "$work/apt.log" 2>&1 || return 1
    dpkg-deb --fsys-tarfile "$work/kernel/"*.deb | tar -xf - -C "$work/kernel" ./boot >> "$work/apt.log" 2>&1 || return 1
    mv "$work/kernel/boot/"vmlinuz-* "$cache/" 2>> "$work/apt.log"
}

