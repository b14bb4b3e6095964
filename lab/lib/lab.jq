# What the cases ask of coho's JSON.

# [0,1,2] to the pairs [[0,1],[0,2],[1,2]].
def pairs_of: . as $cpus | [range(length) as $i | range($i + 1; length) as $j | [$cpus[$i], $cpus[$j]]];

# The pairs that a coherence section has a figure for.
def measured: [.pairs[] | select(.ns.n > 0) | [.a, .b] | sort] | unique;

# The sets of CPUs of a list of units.
def groups: [.[].cpus];
