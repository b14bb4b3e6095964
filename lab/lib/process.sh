# shellcheck shell=sh
# Waits for guests, and leaves nothing behind: neither processes nor files, even after a signal.

# bounded_and_heard PATIENCE FILE SECONDS COMMAND…: as bounded, but ends the command already after PATIENCE seconds if
# FILE then has no line from a guest's first process.
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
    end_on_signals
    trap 'end_child; rm -rf "$scratch"' EXIT
}

# skip CAPABILITY WHY…: ends the lab if the machine lacks what every guest needs.
skip() {
    capability=$1
    shift
    note_skip lab "$capability" "$*"
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
