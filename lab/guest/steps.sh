# shellcheck shell=sh
# The building blocks of a case's commands. A step leaves NAME.out, NAME.err and NAME.exit; its name is of [a-z0-9_].

step_limit=700

# Printed to the console, so that a guest that hangs shows where.
say() {
    read -r up _ < /proc/uptime
    echo "lab: $up s: $*" > /dev/console
}

# step NAME COMMAND…: runs it to its end, or for step_limit seconds (status 143).
step() {
    name=$1
    shift
    say "$name"
    timeout "$step_limit" "$@" > "/out/$name.out" 2> "/out/$name.err"
    echo $? > "/out/$name.exit"
}

# step_begin NAME COMMAND…: as step, but does not wait; step_end does.
step_begin() {
    step "$@" &
    begun=$!
}

step_end() {
    wait "$begun"
}

# set_cpu N 0|1: takes a CPU offline or brings it back.
set_cpu() {
    say "cpu$1 online=$2"
    echo "$2" > "/sys/devices/system/cpu/cpu$1/online"
}
