#!/bin/sh
# Slurm's Prolog: a node that is odd takes no job, as a prolog that fails drains its node.
line=$(coho check --against "${COHO_FLEET:-/etc/coho/fleet.json}" 2>&1)
status=$?
logger -t coho-check "$line"
[ $status -ne 3 ]
