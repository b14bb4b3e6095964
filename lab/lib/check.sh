# shellcheck shell=sh disable=SC2154
# Expectations: a step's name, what to check, and what it must be.
#
#   STEP exits STATUS     the exit status
#   STEP says REGEX       a line of its output or errors matches (grep -E)
#   STEP json FILTER      the jq filter is true of its output; lab/lib/lab.jq is included, and the outputs of the
#                         steps named by `$STEP` in the filter are available

# Prints one line per expectation, `ok` or `not ok` and why; false if one does not hold or there are none.
check() {
    section expect "$1" > "$2/expect"
    bad=0
    [ -s "$2/expect" ] || { echo "not ok: the case expects nothing"; bad=1; }
    while read -r step kind what; do
        if why=$(holds "$2" "$step" "$kind" "$what"); then
            echo "ok: $step $kind $what"
        else
            echo "not ok: $step $kind $what: $why"
            bad=1
        fi
    done < "$2/expect"
    [ "$bad" -eq 0 ]
}

# Whether an expectation holds; if not, prints what was found instead.
holds() {
    of=$1/$2
    [ -e "$of.exit" ] || { echo "the guest ran no step '$2'"; return 1; }
    case $3 in
        exits)
            status=$(cat "$of.exit")
            [ "$status" = "$4" ] || { echo "it was $status: $(tail -n 3 "$of.err" | tr '\n' ' ')"; return 1; }
            ;;
        says)
            cat "$of.out" "$of.err" | grep -Eq -e "$4" || { echo "it said: $(cat "$of.out" "$of.err" | head -c 600)"; return 1; }
            ;;
        json)
            # shellcheck disable=SC2046
            answer=$(jq -c -L "$lab/lib" $(slurped "$1" "$4") "include \"lab\"; $4" "$of.out" 2>&1)
            [ "$answer" = true ] || { echo "jq: $(echo "$answer" | head -c 600)"; return 1; }
            ;;
        *)
            echo "unknown kind of expectation '$3'"
            return 1
            ;;
    esac
}

# jq's arguments that make `$STEP[0]` the output of another step.
slurped() {
    echo "$2" | grep -o '\$[a-z][a-z0-9_]*' | sort -u | while read -r variable; do
        other=${variable#?}
        [ -e "$1/$other.out" ] && echo "--slurpfile $other $1/$other.out"
    done
}
