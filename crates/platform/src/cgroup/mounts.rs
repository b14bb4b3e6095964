//! Finds a group's folder by the list of mounts or, if that cannot be read, in the usual places.

use std::path::{Component, Path, PathBuf};

/// A mounted hierarchy.
pub(super) struct Mount<'a> {
    /// The group that the mount point shows.
    root: String,
    point: String,
    /// Whether it is version 2.
    unified: bool,
    options: &'a str,
}

impl<'a> Mount<'a> {
    /// A line `36 35 98:0 ROOT POINT options [tags] - TYPE source OPTIONS`; `None` if it is another file system's.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (unescaped(place.next()?), unescaped(place.next()?));
        let mut kind = kind.split(' ');
        let unified = match kind.next()? {
            "cgroup2" => true,
            "cgroup" => false,
            _ => return None,
        };
        Some(Self { root, point, unified, options: kind.nth(1).unwrap_or("") })
    }

    fn holds(&self, controllers: &[String]) -> bool {
        match controllers {
            [] => self.unified,
            _ => {
                let has = |name: &String| self.options.split(',').any(|option| option == name);
                !self.unified && controllers.iter().all(has)
            }
        }
    }
}

/// Undoes the escapes: blanks and backslashes are written as three octal digits.
fn unescaped(text: &str) -> String {
    ["\\040 ", "\\011\t", "\\012\n", "\\134\\"]
        .iter()
        .fold(text.to_owned(), |text, pair| text.replace(&pair[..4], &pair[4..]))
}

/// Where the hierarchy of some controllers is mounted, and the group's path below that.
pub(super) fn places(controllers: &[String], group: &Path, mounts: &[Mount<'_>]) -> Vec<(PathBuf, PathBuf)> {
    let plain = group.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let below = |root: &Path| match group.strip_prefix(root) {
        Ok(below) if plain => below.to_owned(),
        // The group is outside of what is mounted, as in a container that shows its own group as the root.
        _ => PathBuf::new(),
    };
    let listed: Vec<_> = mounts
        .iter()
        .filter(|mount| mount.holds(controllers))
        .map(|mount| (PathBuf::from(&mount.point), below(Path::new(&mount.root))))
        .collect();
    if !mounts.is_empty() {
        return listed;
    }
    let usual = Path::new("/sys/fs/cgroup");
    let folders = match controllers {
        [] => vec![usual.to_owned(), usual.join("unified")],
        _ => {
            let mut alone: Vec<_> = controllers.iter().map(|name| usual.join(name)).collect();
            if controllers.len() > 1 {
                alone.push(usual.join(controllers.join(",")));
            }
            alone
        }
    };
    folders.into_iter().map(|folder| (folder, below(Path::new("/")))).collect()
}
