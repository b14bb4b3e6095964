//! Programs that know nothing of the library, under it and without it: the same output, status and files.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use coho_testing::{Capability, needs};

use crate::common::library;

/// What a run leaves: what it printed, its status, and each path with its mode and contents.
#[derive(Debug, PartialEq, Eq)]
pub struct Left {
    pub output: String,
    pub status: Option<i32>,
    files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

/// Runs a script in a folder of its own with these libraries preloaded. Returns what it left, and what this library said.
pub fn run(script: &str, libraries: &[&Path], settings: &[(&str, &str)]) -> (Left, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("timeout");
    command.args(["120", "sh", "-c", script]).current_dir(&folder).env_remove("LD_PRELOAD");
    command
        .env("LC_ALL", "C")
        .env("HOME", folder.path())
        .env("TZ", "UTC")
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command.envs(settings.iter().copied());
    if !libraries.is_empty() {
        command.env("LD_PRELOAD", std::env::join_paths(libraries).unwrap());
    }
    let output = command.output().unwrap();
    let mut files = BTreeMap::new();
    gather(folder.path(), folder.path(), &mut files);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (Left { output: text(&output.stdout), status: output.status.code(), files }, text(&output.stderr))
}

fn gather(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let contents = match () {
            () if kind.is_symlink() => {
                std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            }
            () if kind.is_file() => std::fs::read(&path).unwrap(),
            () => Vec::new(),
        };
        let mode = entry.metadata().unwrap().permissions().mode();
        files.insert(path.strip_prefix(root).unwrap().to_owned(), (mode, contents));
        if kind.is_dir() {
            gather(root, &path, files);
        }
    }
}

/// Calls that the library says it has delegated, in all of the script's processes.
pub fn delegated(errors: &str) -> u64 {
    let number = |line: &str| line.strip_prefix("coho delegate: ")?.split(' ').next()?.parse::<u64>().ok();
    errors.lines().filter_map(number).sum()
}

#[track_caller]
fn same(script: &str) {
    assert!(compare(script, ",verbose") > 0, "nothing was delegated");
}

/// Returns how many calls were delegated, if the library is to say so.
#[track_caller]
fn compare(script: &str, verbose: &str) -> u64 {
    let all = coho_delegate_preload::names().collect::<Vec<_>>().join(",") + verbose;
    let (without, errors) = run(script, &[], &[]);
    assert_eq!(without.status, Some(0), "{errors}");
    let mut calls = 0;
    let later = format!("{all},write:async");
    for (names, patience) in [(&all, "10"), (&all, "50000000"), (&later, "10")] {
        let (with, errors) =
            run(script, &[&library()], &[("COHO_DELEGATE", names), ("COHO_DELEGATE_PATIENCE", patience)]);
        assert!(with == without, "{script}\n{with:.1000?}\n{without:.1000?}\n{errors}");
        calls += delegated(&errors);
    }
    calls
}

#[test]
fn coreutils() {
    same(
        "set -e
        seq 1 30000 >a; sort -R --random-source=a a | sort -n | cmp - a
        cp a b; mkdir copy; cp -a a b copy
        split -b 1000 a part; cat part* | cmp - a; ls | wc -l; md5sum part* | sort; rm part*
        head -c 300000 a | dd of=z bs=512 2>/dev/null; wc z
        mkdir -p deep/er/est; for i in $(seq 200); do echo $i >deep/er/est/$i; done
        chmod -R go-w deep; find deep -type f | sort | xargs cat | md5sum
        cat a a a a >>b; tail -n 3 b; ln -s a link; readlink link; tee c <a | tac | head -n 2; truncate -s 1234 c
        rm -r deep; ls",
    );
}

#[test]
fn errors_of_coreutils() {
    // What they say goes into files, where the library is not to say anything.
    compare(
        "cat missing >out 2>&1; cat a >/dev/full 2>>out; cp missing x 2>>out; seq 100000 | head -n 1
        for i in $(seq 300); do echo $i >$i; done; cat $(seq 300) missing >all 2>>out; echo $? >>out; wc -l all",
        "",
    );
}

#[test]
fn grep_and_tar() {
    same(
        "set -e
        mkdir tree; for i in $(seq 150); do seq $i $((i * 3)) >tree/$i; done
        grep -r -c 77 tree | sort | md5sum; grep -rl 399 tree | sort | wc -l
        tar -cf tree.tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner tree
        mkdir out; tar -xf tree.tar -C out; diff -r tree out/tree && echo same; tar -tf tree.tar | wc -l",
    );
}

#[test]
fn sqlite() {
    needs!(Capability::Sqlite);
    same(
        "set -e
        for i in $(seq 200); do echo \"insert into t values ($i, hex($i * $i));\"; done >inserts
        sqlite3 d.db 'create table t (a integer primary key, b text); create index i on t (b);'
        sqlite3 d.db <inserts
        (echo 'begin;'; seq 201 5000 | sed 's/.*/insert into t values (&, \"&\");/'; echo 'commit;') | sqlite3 d.db
        sqlite3 d.db 'select count(*), sum(a), max(b) from t; pragma integrity_check; delete from t where a % 3 = 0;'
        sqlite3 d.db 'pragma journal_mode = wal; update t set b = a; select count(distinct b) from t; vacuum;' \
            | md5sum
        sqlite3 d.db .dump | md5sum; rm d.db",
    );
}

#[test]
fn git() {
    needs!(Capability::Git);
    same(
        "set -e
        export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        export GIT_AUTHOR_DATE='2000-01-01 00:00:00 +0000' GIT_COMMITTER_DATE='2000-01-01 00:00:00 +0000'
        git init -q -b main r; cd r; for i in $(seq 100); do seq $i >f$i; done
        git add .; git commit -q -m one; git rm -q f1 f2; sed -i s/7/x/ f*; git commit -q -a -m two
        git checkout -q -b other HEAD~1; git merge -q --no-edit main; git gc -q; git fsck; git log --format=%H%s
        git status --short; git grep -c x | md5sum; git archive HEAD | md5sum; cd ..; rm -rf r/.git",
    );
}

#[test]
fn python() {
    needs!(Capability::Python);
    same(
        r#"cat >t.py <<'END'
import os, subprocess, sys, tempfile, threading, signal, json
total = 0
for i in range(500):
    with open(f"f{i}", "w") as f:
        print("line", i, file=f)
    total += os.stat(f"f{i}").st_size
print(total)
fd = os.open("log", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
def work(n):
    for i in range(500):
        os.write(fd, f"{n}\n".encode())
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(open("log").read().split()).count("3"))
os.unlink("log")
print(subprocess.run(["sh", "-c", "ls | wc -l; exit 3"], stdout=subprocess.PIPE))
pid = os.fork()
if pid == 0:
    for i in range(200):
        os.stat("."), os.pread(os.open("f1", os.O_RDONLY), 1, 0)
    os._exit(5)
print(os.waitpid(pid, 0)[1])
with tempfile.TemporaryDirectory(dir=".") as d:
    for i in range(100):
        os.rename(os.path.join(d, "a") if i else "f2", os.path.join(d, "a"))
try:
    os.stat("f2")
except OSError as error:
    print(error)
sys.stdout.flush()
os.kill(os.getpid(), 0)
json.dump(sorted(os.listdir(".")), sys.stdout)
END
python3 t.py"#,
    );
}
