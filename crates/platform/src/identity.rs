//! Which machine this is, and since which boot.

use std::fs::File;
use std::io::Read;

/// No such file is longer.
const LONGEST: u64 = 256;

/// Identifies one boot of one machine, as far as the system says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// `/etc/machine-id`, which a container may lack or share with others of its image.
    pub machine: Option<String>,
    /// The kernel's number of this boot, which containers share with their host.
    pub boot: Option<String>,
}

impl Identity {
    /// Of this machine.
    pub fn of_this_machine() -> Self {
        let machine = ["/etc/machine-id", "/var/lib/dbus/machine-id"];
        Self { machine: machine.into_iter().find_map(word), boot: word("/proc/sys/kernel/random/boot_id") }
    }
}

/// The one word that a file holds.
fn word(path: &str) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    let mut words = text.split_ascii_whitespace();
    words.next().filter(|_| words.next().is_none()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_holds_one_word_tells_it() {
        let folder = tempfile::tempdir().unwrap();
        let told = |text: &str| {
            let path = folder.path().join("id");
            std::fs::write(&path, text).unwrap();
            word(path.to_str().unwrap())
        };
        assert_eq!(told("4f1c-22\n").as_deref(), Some("4f1c-22"));
        assert_eq!((told(""), told("\n"), told("two words")), (None, None, None));
        assert_eq!(word("/nonexistent"), None);
        assert_eq!(Identity::of_this_machine(), Identity::of_this_machine());
    }
}
