# shellcheck shell=sh disable=SC2154
# A guest: made of busybox, coho and the case's commands; its results come back on a disk that holds a tar archive.

# The lines of a case file's section, comments and blank lines left out.
section() {
    awk -v want="[$1]" '/^\[[a-z]+\]$/ { on = $0 == want; next } on && !/^[ \t]*(#|$)/' "$2"
}

# The contents of every guest, packed once. Not compressed: unpacking is the slow part in an emulated CPU.
make_initramfs() {
    tree=$work/tree
    mkdir -p "$tree/bin" "$tree/lab" &&
        cp "$busybox" "$tree/bin/busybox" && add_programs "$tree" &&
        cp "$lab/guest/init" "$tree/init" && cp "$lab/guest/in_cpuset" "$lab/guest/in_quota" "$tree/bin/" &&
        cp "$lab/guest/likes_one" "$lab/guest/typed_pages" "$tree/bin/" &&
        cp "$lab/guest/steps.sh" "$tree/lab/" && chmod +x "$tree/init" "$tree/bin/"* &&
        pack "$tree" > "$1"
}

pack() {
    (cd "$1" && find . | cpio --quiet -o -H newc -R 0:0)
}

# Boots the case's guest and unpacks its results into the folder. On failure $results/why says why.
boot() {
    case_file=$1
    out=$2
    commands=$out/initramfs/lab
    mkdir -p "$commands"
    section guest "$case_file" > "$commands/case.sh"
    bzimage=$kernel
    archives=$work/base.cpio
    if wants_modules "$case_file"; then
        bzimage=$general/vmlinuz
        archives="$archives $work/modules.cpio"
        section modules "$case_file" > "$commands/modules"
    fi
    # The kernel reads archives one after the other as one.
    # shellcheck disable=SC2086 # several names
    { cat $archives; pack "$out/initramfs"; } > "$work/guest.cpio"
    rm -f "$work/disk" && truncate -s 64M "$work/disk"
    limit=$(section limit "$case_file")
    # Word splitting is meant: a section is a list of arguments.
    # shellcheck disable=SC2046
    # Now and then a guest's kernel hangs under emulation before its first process.
    bounded_and_heard 300 "$out/console" "$limit" qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -machine q35 \
        -serial "file:$out/console" \
        -drive "if=none,id=disk,format=raw,cache=unsafe,file=$work/disk" -device nvme,serial=lab,drive=disk,max_ioqpairs=1 \
        -kernel "$bzimage" -initrd "$work/guest.cpio" -append "$(kernel_arguments "$case_file")" \
        $(section qemu "$case_file") > "$out/qemu" 2>&1 < /dev/null
    status=$?
    if ! grep -q '^lab: ' "$out/console"; then
        echo "the guest's first process said nothing; QEMU ended with status $status: $(tail -n 1 "$out/qemu")" > "$out/why"
        status=1
    elif [ "$status" -eq 124 ]; then
        echo "the guest was still running after $limit s, see the last step below" > "$out/why"
    elif [ "$status" -ne 0 ]; then
        echo "QEMU ended with status $status: $(tail -n 1 "$out/qemu")" > "$out/why"
    elif ! tar -xf "$work/disk" -C "$out" 2> /dev/null || [ ! -e "$out/finished" ]; then
        echo "the guest ended without its results" > "$out/why"
        status=1
    fi
    return "$status"
}

# Without its self-tests, watchdogs and calibrations the kernel boots in half the time.
kernel_arguments() {
    echo "console=ttyS0 quiet panic=-1 mitigations=off nowatchdog tsc=reliable no_timer_check lpj=10000000" \
        "cryptomgr.notests rcupdate.rcu_expedited=1" "$(section kernel "$1" | tr '\n' ' ')"
}
