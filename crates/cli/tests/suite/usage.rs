//! Words that a command refuses: it ends with 2 where its usage is wrong, and with 1 where the machine lacks what it
//! names, and it says what it refuses or what there is instead.

use crate::support::fails;

/// A command's words, its status, and what it names.
const REFUSED: [(&str, i32, &str); 62] = [
    ("barrier --threads 1", 2, "at least 2 threads"),
    ("barrier --mapping diagonal", 2, "diagonal"),
    ("barrier --method fbs,magic", 2, "magic"),
    ("barrier --burst 0", 2, "0"),
    ("barrier --cpus 60000", 1, "60000"),
    ("bench linpack", 2, "context1"),
    ("bench --place scatter", 2, "spread"),
    ("bench pipe --peer /nonexistent", 1, "/nonexistent"),
    ("bench pipe --folder /proc", 1, "/proc"),
    ("bench pipe --folder /nope", 1, "/nope: there is no such folder"),
    ("bench pipe --cpus 60000", 1, "60000"),
    ("calls --set posix", 2, "syscalls"),
    ("calls --call fork()", 2, "fork"),
    ("calls --call read(4096", 2, "parenthesis"),
    ("calls --repeat 0", 2, "repeat"),
    ("calls --cpus one", 2, "one"),
    ("calls --time-limit never", 2, "never"),
    ("calls --cpus 60000 --quick", 1, "60000"),
    ("calls --quick -o /dev/null/mine.json", 1, "mine.json"),
    ("coherence --cpus=", 2, "no CPU"),
    ("coherence --cpus 0-99999999", 2, "99999999"),
    ("coherence --method ping-pong", 2, "turn"),
    ("contention --operations divide", 2, "divide"),
    ("contention --operations divide", 2, "compare-and-swap"),
    ("contention --threads 0", 2, "0"),
    ("contention --cpus 60000", 1, "60000"),
    ("counters --cpus one", 2, "one"),
    ("counters --time-limit 0", 2, "zero"),
    ("counters --cpus 60000", 1, "60000"),
    ("kernels linpack", 2, "linpack"),
    ("memory --sizes 1.5M", 2, "1.5M"),
    ("memory --state tepid", 2, "tepid"),
    ("memory --fence often", 2, "often"),
    ("memory --type WX", 2, "WX"),
    ("memory --operations scale", 2, "scale"),
    ("memory --instructions avx9000", 1, "avx9000"),
    ("memory --quick -o /no/such/place/x.json", 1, "/no/such/place"),
    ("memory --quick --node 1000", 1, "1000"),
    ("path dimmnet --figure 7", 2, "4, 5, 6, 8, 9, 10, 11"),
    ("path dimmnet --reading H4", 2, "H1, H2, H3"),
    ("path copy --reading H1", 2, "has no readings"),
    ("predict barrier", 2, ""),
    ("predict barrier published:kawabe-furuya/x7560 --threads 4096", 1, "4096"),
    ("run --place nearby -- true", 2, "compact, spread, none"),
    ("run --place compact", 2, ""),
    ("run --place 60000 -- true", 1, "60000"),
    ("run --place l4 -- true", 1, "no level 'l4'"),
    ("run --rate x -- true", 2, ""),
    ("run --live --rate ( -- true", 2, ""),
    ("run --live --place compact -- true", 2, ""),
    ("run --live=none --try none -- true", 2, ""),
    ("run --delegate= -- true", 2, ""),
    ("run --host-cpus 0 -- true", 2, ""),
    ("run --delegate-flush 1ms -- true", 2, ""),
    ("run --delegate --host-cpus x -- true", 2, ""),
    ("run --delegate --host-cpus getpid=1 -- true", 2, ""),
    ("run --delegate --place auto -- true", 2, ""),
    ("run --delegate --openmp --try -- true", 2, ""),
    ("run --delegate --live -- true", 2, ""),
    ("survey --time-limit soon", 2, "soon"),
    ("topology --from /nowhere", 1, "/nowhere"),
    ("topology --format yaml", 2, "yaml"),
];

#[test]
fn each_command_names_what_it_refuses() {
    for (words, status, named) in REFUSED {
        let errors = fails(&words.split(' ').collect::<Vec<_>>(), status);
        assert!(errors.contains(named), "coho {words}: {errors}");
    }
}
