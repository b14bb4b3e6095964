//! Words that a command refuses: it ends with 2 where its usage is wrong, and with 1 where the machine lacks what it
//! names, and it says what it refuses or what there is instead. Those of the commands that measure are in their own
//! files, and those that they all refuse in `alike`.

use crate::support::assert_refuses;

#[test]
fn each_command_names_what_it_refuses() {
    assert_refuses(&[
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
        ("run --delegate --host-per-process -- true", 2, "--host-cpus"),
        ("run --delegate-flush 1ms -- true", 2, ""),
        ("run --delegate --host-cpus x -- true", 2, ""),
        ("run --delegate --host-cpus getpid=1 -- true", 2, ""),
        ("run --delegate --place auto -- true", 2, ""),
        ("run --delegate --openmp --try -- true", 2, ""),
        ("run --delegate --live -- true", 2, ""),
        ("watch", 2, ""),
        ("watch --repeat 0 -- true", 2, ""),
        ("watch --cpus 60000 -- true", 1, "CPU 60000"),
        ("topology --from /nowhere", 1, "/nowhere"),
        ("topology --format yaml", 2, "yaml"),
    ]);
}
