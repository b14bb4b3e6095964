# Functions for the cases' checks of coho's JSON.

# [0,1,2] to the pairs [[0,1],[0,2],[1,2]].
def pairs_of: . as $cpus | [range(length) as $i | range($i + 1; length) as $j | [$cpus[$i], $cpus[$j]]];

# The pairs that a coherence section has a figure for.
def measured: [.pairs[] | select(.ns.n > 0) | [.a, .b] | sort] | unique;

# The pairs that it has a figure for or names as not available, with a reason.
def accounted: measured + [.method.not_available | to_entries[]
    | select((.key | startswith("pair ")) and (.value | length > 0)) | .key[5:] | split(",") | map(tonumber)] | unique;

# The sets of CPUs of a list of units.
def groups: [.[].cpus];
