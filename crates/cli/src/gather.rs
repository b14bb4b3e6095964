//! The profiles of many machines: finding them, what their machines are called, and reading them on several CPUs, each
//! holding one at a time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use anyhow::Context;
use coho_model::fleet::{MissingHost, Skipped, Surveyed};
use coho_profile::{Network, Profile, SurveyedNode};
use coho_show::visible::on_one_line;

/// A file, and what its machine is called.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    pub file: PathBuf,
    pub machine: String,
}

/// What a file holds.
pub enum Read {
    /// A machine's survey.
    Survey(Box<Surveyed>),
    /// The nodes that a job surveys, each into a file beside this one.
    Nodes(Box<Network>),
}

/// Folders within folders that are looked into.
const DEPTH: usize = 8;
/// Threads at most: each holds a profile.
const MOST_THREADS: usize = 4;

/// The files that are named and those of the folders that are named, in the order of their names; and what was left out.
///
/// # Errors
/// If what was named cannot be looked at.
pub fn find(named: &[PathBuf]) -> anyhow::Result<(Vec<Found>, Vec<Skipped>)> {
    let (mut files, mut skipped) = (Vec::new(), Vec::new());
    for path in named {
        let found = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
        if found.is_dir() {
            look_into(path, path, DEPTH, &mut files, &mut skipped)
                .with_context(|| format!("cannot read the folder {}", path.display()))?;
        } else {
            files.push(Found { file: path.clone(), machine: short_name(path) });
        }
    }
    Ok((files, skipped))
}

fn look_into(
    root: &Path,
    folder: &Path,
    depth: usize,
    files: &mut Vec<Found>,
    skipped: &mut Vec<Skipped>,
) -> std::io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        let is_profile = path.extension().is_some_and(|ending| ending == "json");
        let mut skip =
            |why: &str| skipped.push(Skipped { file: path.display().to_string(), why: why.into() });
        if kind.is_dir() && depth == 0 {
            skip("the folder lies too deep");
        } else if kind.is_dir() {
            if let Err(error) = look_into(root, &path, depth - 1, files, skipped) {
                skipped.push(Skipped { file: path.display().to_string(), why: error.to_string() });
            }
        } else if is_profile && kind.is_symlink() {
            skip("a symbolic link, which is followed only where you name it yourself");
        } else if is_profile && !kind.is_file() {
            skip("not a regular file");
        } else if is_profile {
            files.push(Found { machine: long_name(&path, root), file: path });
        }
    }
    Ok(())
}

/// What the machine of a file in a folder is called: the file's path from there, less its date.
fn long_name(file: &Path, root: &Path) -> String {
    let within = file.strip_prefix(root).unwrap_or(file);
    let folders = within.parent().unwrap_or(Path::new("")).to_string_lossy().into_owned();
    match (undated(file), folders.is_empty()) {
        (Some(stem), true) => stem,
        (Some(stem), false) => on_one_line(&format!("{folders}/{stem}")),
        (None, false) => on_one_line(&folders),
        (None, true) => stem(file),
    }
}

/// What the machine of a file that was named is called: as the file, or else as its folder.
fn short_name(file: &Path) -> String {
    let folder = || Some(on_one_line(&file.parent()?.file_name()?.to_string_lossy()));
    undated(file).or_else(folder).unwrap_or_else(|| stem(file))
}

fn stem(file: &Path) -> String {
    on_one_line(&file.file_stem().unwrap_or_default().to_string_lossy())
}

/// The shape of a date.
pub const DATE: &str = "0000-00-00";

/// Whether bytes are digits where the shape has 0, and as the shape elsewhere.
pub fn has_shape(bytes: &[u8], shape: &str) -> bool {
    let is_so = |(byte, shape): (&u8, u8)| if shape == b'0' { byte.is_ascii_digit() } else { *byte == shape };
    bytes.len() == shape.len() && bytes.iter().zip(shape.bytes()).all(is_so)
}

/// A file's stem less a date at its end; `None` if nothing is left that would name a machine.
fn undated(file: &Path) -> Option<String> {
    let stem = stem(file);
    let is_date =
        |at: usize| stem.as_bytes().get(at..at + DATE.len()).is_some_and(|date| has_shape(date, DATE));
    let end = (0..stem.len()).find(|at| is_date(*at)).unwrap_or(stem.len());
    let name = stem[..end].trim_end_matches(['-', '_', '.', '@', ' ']);
    (!["", "coho", "profile"].contains(&name)).then(|| name.to_owned())
}

/// Reads the files on a few CPUs, and tells of each in their order, until that says that it is enough.
pub fn read(files: &[Found], mut each: impl FnMut(usize, &Found, Result<Read, String>) -> bool) {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (send, receive) = sync_channel(threads);
    thread::scope(|scope| {
        for _ in 0..threads {
            let send = send.clone();
            scope.spawn(|| {
                let send = send;
                while !is_over.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(found) = files.get(at) else { break };
                    if send.send((at, content(found))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        let mut waiting = BTreeMap::new();
        let mut told = 0;
        for (at, content) in &receive {
            waiting.insert(at, content);
            while let Some(content) = waiting.remove(&told) {
                let goes_on = each(told, &files[told], content);
                told += 1;
                if !goes_on {
                    is_over.store(true, Ordering::Relaxed);
                    // Those that wait to send are let go.
                    drop(receive);
                    return;
                }
            }
        }
    });
}

fn content(found: &Found) -> Result<Read, String> {
    let file = found.file.display().to_string();
    // A pipe may never end, and a fleet has others to read.
    if fs::metadata(&found.file).is_ok_and(|found| !found.is_file()) {
        return Err("not a regular file".into());
    }
    let mut profile = Profile::read(&found.file).map_err(|error| {
        // The file is named beside it.
        let error = error.to_string();
        error.strip_prefix(&format!("{file}: ")).map_or(error.clone(), str::to_owned)
    })?;
    Ok(match profile.network.take_if(|network| !network.nodes.is_empty()) {
        Some(network) => Read::Nodes(Box::new(network)),
        None => Read::Survey(Box::new(Surveyed::of(&found.machine, file, &profile))),
    })
}

/// The hosts that a job was to survey and that have no profile beside the file which lists them.
pub fn missing(list: &Path, network: &Network) -> Vec<MissingHost> {
    let missing = |node: &SurveyedNode| {
        // A file elsewhere is none of the job's.
        let name = Path::new(&node.file).file_name()?;
        let path = list.with_file_name(name);
        let mut unfinished = name.to_owned();
        unfinished.push(".unfinished");
        let begun = path.with_file_name(unfinished).exists();
        let why = if begun { "its survey was begun and did not end" } else { "there is no profile of it" };
        let file = list.display().to_string();
        (!path.exists()).then(|| MissingHost { host: node.host.clone(), file, why: why.into() })
    };
    network.nodes.iter().filter_map(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_called_as_their_files_or_folders_less_dates() {
        let long = |path: &str| long_name(Path::new(path), Path::new("/d"));
        assert_eq!(long("/d/node1.json"), "node1");
        assert_eq!(long("/d/node1-2026-11-24T22-00-48Z.json"), "node1");
        assert_eq!(long("/d/node1/coho-2026-11-24T22-00-48Z.json"), "node1");
        assert_eq!(long("/d/rack 2/node1.json"), "rack 2/node1");
        assert_eq!(long("/d/profile.json"), "profile");
        assert_eq!(long("/d/a\u{1b}[2J\nb.json"), "a\\u{1b}[2J b");
        let short = |path: &str| short_name(Path::new(path));
        assert_eq!((short("x/node1.json"), short("node2/profile.json")), ("node1".into(), "node2".into()));
        assert_eq!(short("2026-11-24é.json"), "2026-11-24é");
    }

    #[test]
    fn files_are_told_in_their_order_and_no_longer_than_wanted() {
        let files: Vec<Found> = (0..50)
            .map(|i| Found { file: format!("/nowhere/{i}.json").into(), machine: i.to_string() })
            .collect();
        let mut told = Vec::new();
        read(&files, |at, found, content| {
            assert!(content.err().unwrap().contains("No such file") && found.machine == at.to_string());
            told.push(at);
            at < 30
        });
        assert_eq!(told, (0..=30).collect::<Vec<_>>());
    }
}
