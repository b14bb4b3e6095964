# shellcheck shell=sh disable=SC2154
# Guests with modules: Debian's general kernel, those of its modules that cases name, and the project's own, built from
# kernel/ with that kernel's headers. Everything is in lab/cache/general; nothing is installed.

# Why cases with modules cannot be run; empty if they can.
no_modules=

wants_modules() {
    [ -n "$(section modules "$1")" ]
}

# Sets `general` and makes $work/modules.cpio, if one of these cases wants modules.
find_modules() {
    wanted=$(for name; do section modules "$lab/cases/$name.case"; done | sort -u)
    [ -n "$wanted" ] || return 0
    general=$cache/general
    has_modules || fetch unpack_general ||
        { no_modules="no general kernel to be had: $(tail -n 1 "$work/apt.log")"; return 0; }
    has_modules || { no_modules="the general kernel lacks a module of:" $wanted; return 0; }
    for need in cc make; do
        command -v "$need" > /dev/null || { no_modules="no $need to build kernel/ with"; return 0; }
    done
    tree=$work/modules
    mkdir "$tree" && cp -r "$general/lib" "$tree/" && build_module "$tree" || exit 1
    "$busybox" depmod -b "$tree" "$(cat "$general/version")" && pack "$tree" > "$work/modules.cpio" || exit 1
}

# Debian's modules that a case names: all but our own. The guest's disk needs nvme.
debian_modules() {
    { echo nvme; cat "$lab"/cases/*.case | section modules -; } | grep -v '^coho_mem$' | sort -u
}

# Whether the cache has all that any case names.
has_modules() {
    [ -e "$general/version" ] && [ "$(debian_modules)" = "$(cat "$general/wanted")" ]
}

# Into the scratch first: an interrupted download leaves no half a kernel in the cache. Of the thousands of modules only
# those wanted are kept, with what they depend on.
unpack_general() {
    from=$work/general
    new=$cache/general.new
    image=$(kernel_package linux-image-amd64) || return 1
    version=${image#linux-image-}
    build=$(apt-cache depends "linux-headers-$version" 2> /dev/null | awk '/Depends: .*-common$|Depends: linux-kbuild-/ { print $2 }')
    # shellcheck disable=SC2086 # the packages are words
    download "$from" "$image" "linux-headers-$version" $build && unpack "$from" . || return 1
    # In case /lib is /usr/lib.
    [ -d "$from/lib/modules" ] || ln -s usr/lib "$from/lib"
    rm -rf "$new" && mkdir -p "$new/lib/modules/$version" "$new/headers" && "$busybox" depmod -b "$from" "$version" &&
        closure "$from/lib/modules/$version/modules.dep" > "$work/closure" &&
        (cd "$from/lib/modules/$version" && xargs -a "$work/closure" cp --parents -t "$new/lib/modules/$version" modules.builtin modules.order) &&
        mv "$from/boot/vmlinuz-$version" "$new/vmlinuz" && mv "$from/usr" "$new/headers/" &&
        debian_modules > "$new/wanted" && echo "$version" > "$new/version" &&
        rm -rf "$from" "$general" && mv "$new" "$general"
} 2>> "$work/apt.log"

# The files of the modules wanted, by modules.dep.
closure() {
    for module in $(debian_modules); do
        awk -v module="$module" -F ': *' '$1 ~ "/" module "[.]ko[^/]*$" { print $1, $2 }' "$1"
    done | tr ' ' '\n' | grep . | sort -u
}

# Builds kernel/ and puts it among the modules of a tree.
build_module() {
    version=$(cat "$general/version")
    headers=$general/headers/usr/src/linux-headers-$version
    # Its paths are those of installed packages.
    [ -e "$headers/Makefile.debian" ] || cp "$headers/Makefile" "$headers/Makefile.debian"
    sed "s,/usr/src/,$general/headers/usr/src/,g" "$headers/Makefile.debian" > "$headers/Makefile"
    cp -r "$root/kernel" "$work/kernel-module"
    # Debian names its own compiler; debugging information for BPF would need pahole.
    bounded 600 make -s -C "$headers" M="$work/kernel-module" CC=cc PAHOLE=true modules > "$work/module.log" 2>&1 ||
        { echo "lab: kernel/ does not build:"; tail -n 20 "$work/module.log"; return 1; }
    mkdir -p "$1/lib/modules/$version/extra" && cp "$work/kernel-module/coho_mem.ko" "$1/lib/modules/$version/extra/"
}
