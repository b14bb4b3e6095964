//! Libraries that others preload, before this one and after it: each program does what it does with them alone.

use coho_testing::{Capability, Interposer, needs};

use crate::clients::{delegated, run};
use crate::common::{PATIENT, all, library};

/// What the programs do in each of the cases, and how many calls were delegated.
#[track_caller]
fn same(other: Interposer, settings: &[(&str, &str)], script: &str) -> (String, u64) {
    let (own, other) = (library(), other.library());
    let (alone, errors) = run(script, &[&other], settings);
    assert_eq!(alone.status, Some(0), "{errors}");
    let mut calls = 0;
    let later = format!("{},write:async", all());
    for libraries in [[&*own, &*other], [&*other, &*own]] {
        for (names, patience) in [(&all(), "10"), (&all(), PATIENT), (&later, "10")] {
            let names = format!("{names},verbose");
            let more = [("COHO_DELEGATE", &names[..]), ("COHO_DELEGATE_PATIENCE", patience)];
            let (with, errors) = run(script, &libraries, &[settings, &more].concat());
            assert!(with == alone, "{libraries:?} {names}\n{with:.1000?}\n{alone:.1000?}\n{errors}");
            calls += delegated(&errors);
        }
    }
    (alone.output, calls)
}

/// The time of all processes stands still.
#[test]
fn faketime() {
    needs!(Capability::Interposers, Capability::Python);
    let settings = [("FAKETIME", "2000-02-29 12:34:56"), ("FAKETIME_DONT_RESET", "1")];
    let (output, calls) = same(
        Interposer::Faketime,
        &settings,
        r#"date +%F; seq 3000 >a; touch b; sort -R --random-source=a a | sort -n | cmp - a && cat a a >>b
        python3 -c '
import datetime, os, threading, time
def work(name):
    for i in range(300):
        with open(name, "a") as f:
            print(i, int(time.time()), file=f)
threads = [threading.Thread(target=work, args=(name,)) for name in "cd"]
[t.start() for t in threads]; [t.join() for t in threads]
print(datetime.date.today(), [os.stat(name).st_size for name in "abcd"])'"#,
    );
    assert!(output.starts_with("2000-02-29\n2000-02-29 ["), "{output}");
    assert_eq!(calls, 0, "hosts and callers wait by the clock");
}

/// Devices that are none, and owners that nobody is. Its server is started by hand: its own script puts its library first.
#[test]
fn fakeroot() {
    needs!(Capability::Interposers);
    let (output, calls) = same(
        Interposer::Fakeroot,
        &[],
        r#"cat >tasks <<'END'
        seq 2000 >f; mknod null c 1 3; mkdir d; for i in $(seq 100); do cp f d/$i; done
        chown -R 1234:4321 d null; chmod 4711 d/7; id -u; stat -c '%n %F %a %u:%g %t:%T' null d/7 f d
        tar -cf all.tar --sort=name --mtime=@0 d null; rm -r d null; tar -xf all.tar; tar -tvf all.tar | md5sum
        stat -c '%n %F %a %u:%g' null d/7; for i in $(seq 100); do cmp f d/$i; done
        rm null; find . -type f ! -name all.tar | sort | xargs cat | md5sum
END
        server=$(env -u LD_PRELOAD faked-sysv); trap "kill ${server#*:}" EXIT
        FAKEROOTKEY=${server%:*} sh -e tasks"#,
    );
    assert!(output.starts_with("0\nnull character special file 644 1234:4321 1:3\n"), "{output}");
    assert!(calls > 0, "nothing was delegated");
}

/// It can be asked what it holds.
#[test]
fn jemalloc() {
    needs!(Capability::Interposers, Capability::Python);
    let (output, calls) = same(
        Interposer::Jemalloc,
        &[],
        r#"seq 20000 >a; sort -R --random-source=a a | sort -n --parallel=2 -S 100k | cmp - a && tac a | md5sum
        python3 -c '
import ctypes, os, threading
size, held = ctypes.c_size_t(8), ctypes.c_size_t()
print(ctypes.CDLL(None).mallctl(b"stats.allocated", ctypes.byref(held), ctypes.byref(size), None, 0), held.value > 0)
def work(name):
    blocks = []
    for i in range(500):
        blocks.append(bytes(i * 37 % 9000))
        with open(name, "ab") as f:
            f.write(blocks[i])
        if os.stat(name).st_size % 3 == 0:
            blocks[i // 2] = None
names = [str(n) for n in range(4)]
threads = [threading.Thread(target=work, args=(name,)) for name in names]
[t.start() for t in threads]; [t.join() for t in threads]
print([os.stat(name).st_size for name in names])'"#,
    );
    assert!(output.contains("\n0 True\n"), "{output}");
    assert!(calls > 0, "nothing was delegated");
}

/// A pipe cannot be synchronised, which nobody notices who does not try.
#[test]
fn eatmydata() {
    needs!(Capability::Interposers, Capability::Python, Capability::Sqlite);
    let (output, calls) = same(
        Interposer::Eatmydata,
        &[],
        r#"sqlite3 d.db 'create table t (a integer primary key, b text);'
        for i in $(seq 60); do echo "insert into t values ($i, hex($i * $i));"; done | sqlite3 d.db
        sqlite3 d.db 'select count(*), sum(a), max(b) from t; pragma integrity_check; vacuum;'; rm d.db
        python3 -c '
import os
os.fsync(os.pipe()[0])
fd = os.open("log", os.O_CREAT | os.O_WRONLY | os.O_SYNC, 0o600)
for i in range(1000):
    os.write(fd, b"%d\n" % i); os.fsync(fd); os.stat("log")
print("eaten")'; dd if=log of=copy bs=100 conv=fsync oflag=sync 2>/dev/null; cmp log copy"#,
    );
    assert!(output.ends_with("eaten\n"), "{output}");
    assert!(calls > 0, "nothing was delegated");
}
