# shellcheck shell=sh
# One child with a time limit, which does not outlive its starter.

child=

# Runs a command for at most this many seconds; 124 if it took longer. It runs in the background, so that this shell
# handles a signal at once.
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

end_child() {
    [ -n "$child" ] || return 0
    kill "$child" 2> /dev/null
    wait "$child" 2> /dev/null
}

# Ends the child when this process ends, even by a signal.
end_on_signals() {
    trap end_child EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}
