//! The scripts of the shell tests, and the text that they work on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::folder::Folder;

/// Size of the text, in bytes: as UnixBench's.
const TEXT_BYTES: usize = 8546;
const COMMANDS: [&str; 6] = ["sort", "od", "grep", "tee", "wc", "rm"];

/// Puts scripts and text into the folder, and returns the script that runs this many tasks.
///
/// # Errors
/// Which command is missing, or the operating system's.
pub(super) fn prepare(folder: &Folder) -> Result<PathBuf, String> {
    for command in COMMANDS {
        let found = Command::new("/bin/sh")
            .args(["-c", "command -v \"$1\"", "sh", command])
            .stdout(Stdio::null())
            .status();
        if !found.is_ok_and(|status| status.success()) {
            return Err(format!("there is no command {command}"));
        }
    }
    let write = |name: &str, text: &str| -> std::io::Result<PathBuf> {
        let path = folder.path().join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    };
    let prepared = || {
        write("words.txt", &text())?;
        write(TASK, include_str!("scripts/task.sh"))?;
        write("tasks.sh", include_str!("scripts/tasks.sh"))
    };
    prepared().map_err(|error| error.to_string())
}

/// Name of the script of one task, which the other finds by an environment variable.
const TASK: &str = "task.sh";
/// That variable.
pub(super) const TASK_VARIABLE: &str = "COHO_TASK";

/// Where the one task's script lies.
pub(super) fn task(folder: &Path) -> PathBuf {
    folder.join(TASK)
}

/// Lines of words in no order, one in eight of which is "the".
fn text() -> String {
    const WORDS: [&str; 16] = [
        "the", "line", "cache", "core", "owner", "reads", "store", "the", "barrier", "module", "waits",
        "hop", "wakes", "fork", "join", "copy",
    ];
    let mut random = fastrand::Rng::with_seed(5);
    let mut text = String::new();
    while text.len() < TEXT_BYTES {
        for _ in 0..random.usize(3..9) {
            text.push_str(WORDS[random.usize(..WORDS.len())]);
            text.push(' ');
        }
        text.push_str(&random.u32(..10_000).to_string());
        text.push('\n');
    }
    text.truncate(TEXT_BYTES - 1);
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_of_the_size_and_the_same_every_time() {
        assert_eq!(text().len(), TEXT_BYTES);
        assert_eq!(text(), text());
        assert!(text().lines().filter(|line| line.contains("the")).count() > 10);
    }

    #[test]
    fn a_task_leaves_nothing_behind() {
        let folder = Folder::create(None).unwrap();
        let script = prepare(&folder).unwrap();
        let status = Command::new(script)
            .arg("2")
            .current_dir(folder.path())
            .env(TASK_VARIABLE, task(folder.path()))
            .status();
        assert!(status.unwrap().success());
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["task.sh", "tasks.sh", "words.txt"]);
    }
}
