#!/bin/sh
# This many tasks at a time.
left=$1
while [ "$left" -gt 0 ]; do
    "$COHO_TASK" &
    left=$((left - 1))
done
wait
