# shellcheck shell=sh
# Children with a bound, and nothing left behind: neither processes nor files, also after a signal.

child=

# Runs a command for at most this many seconds; 124 if it took longer. In the background, so that a signal to
# the lab is acted upon at once.
bounded() {
    begin_bounded "$@"
    end_bounded
}

begin_bounded() {
    bound=$1
    shift
    timeout -k 5 "$bound" "$@" &
    child=$!
}

end_bounded() {
    wait "$child"
    ended=$?
    child=
    return "$ended"
}

# bounded_and_heard PATIENCE FILE SECONDS COMMAND…: as bounded, but ends the command after PATIENCE seconds already if
# FILE has no line of a guest's first process.
bounded_and_heard() {
    patience=$1
    told_in=$2
    shift 2
    begin_bounded "$@"
    {
        while [ "$patience" -gt 0 ] && kill -0 "$child"; do
            sleep 1
            patience=$((patience - 1))
        done
        grep -q '^lab: ' "$told_in" || kill "$child"
    } 2> /dev/null &
    watcher=$!
    end_bounded
    wait "$watcher"
    return "$ended"
}

# Ends the running child and removes this folder however the lab ends.
clean_on_exit() {
    scratch=$1
    trap 'end_child; rm -rf "$scratch"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

end_child() {
    [ -n "$child" ] || return 0
    kill "$child" 2> /dev/null
    wait "$child" 2> /dev/null
}

skip() {
    echo "lab: skipped: $*"
    exit 0
}

now_ms() {
    date +%s%3N
}

# Seconds since a time of now_ms, with one decimal.
elapsed() {
    tenths=$((($(now_ms) - $1) / 100))
    echo "$((tenths / 10)).$((tenths % 10))"
}
