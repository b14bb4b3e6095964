//! Sysfs trees in a temporary directory: empty, unpacked from the recorded data, or of a made-up machine in the style of
//! any kernel.

mod machine;

use std::path::{Path, PathBuf};

pub use machine::{Machine, Style};

/// A tree, with `sys/devices/system` and `proc` below its root.
pub struct Tree {
    dir: tempfile::TempDir,
}

impl Tree {
    pub fn new() -> Self {
        let tree = Self { dir: temporary() };
        std::fs::create_dir_all(tree.file("cpu")).unwrap();
        tree
    }

    /// A recorded tree, by its name below `testdata/sysfs`: a line `path<TAB>content` for each file, with the escapes
    /// `\\n`, `\\t`, `\\0`, `\\\\` and `\\xNN`.
    pub fn recorded(name: &str) -> Self {
        let tree = Self { dir: temporary() };
        let text = std::fs::read_to_string(coho_testing::data(&format!("sysfs/{name}.tree"))).unwrap();
        tree.fill(&text);
        tree
    }

    /// The trees of one file below `testdata/sysfs`, each behind a line `== name …`, the rest of which comes with it.
    pub fn all_recorded(file: &str) -> Vec<(String, String, Self)> {
        let text = std::fs::read_to_string(coho_testing::data(&format!("sysfs/{file}"))).unwrap();
        let sections = text.split("== ").filter(|section| !section.is_empty());
        sections
            .map(|section| {
                let (head, files) = section.split_once('\n').unwrap();
                let (name, facts) = head.split_once(' ').unwrap();
                let tree = Self { dir: temporary() };
                tree.fill(files);
                (name.to_owned(), facts.to_owned(), tree)
            })
            .collect()
    }

    fn fill(&self, files: &str) {
        for line in files.lines() {
            let (path, content) = line.split_once('\t').unwrap();
            put(&self.path().join(path), &unescaped(content));
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join("sys/devices/system").join(name)
    }

    /// Writes a file below `sys/devices/system`.
    pub fn write(&self, name: &str, text: &str) {
        self.write_bytes(name, format!("{text}\n").as_bytes());
    }

    pub fn write_bytes(&self, name: &str, bytes: &[u8]) {
        put(&self.file(name), bytes);
    }

    /// Writes a file below the root.
    pub fn write_root(&self, name: &str, text: &str) {
        put(&self.path().join(name), text.as_bytes());
    }

    pub fn remove(&self, name: &str) {
        let path = self.file(name);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap()
        } else {
            std::fs::remove_file(path).unwrap()
        }
    }

    /// Puts a symbolic link in a file's place.
    pub fn link(&self, name: &str, target: &str) {
        let path = self.file(name);
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(target, path).unwrap();
    }
}

/// In memory where possible: trees have thousands of files.
fn temporary() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next().unwrap() {
                b'n' => b'\n',
                b't' => b'\t',
                b'0' => 0,
                b'x' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                other => other,
            },
            byte => byte,
        });
    }
    bytes
}
