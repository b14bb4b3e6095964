//! What the preloaded library has decided in the processes of a command, as they tell it themselves.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsRawFd;
use std::process;

use super::Choices;
use crate::unnamed;

/// More is not read.
const MOST: u64 = 1 << 20;

/// A file in memory into which processes write what they have decided.
#[derive(Debug)]
pub(crate) struct Told(File);

impl Told {
    /// An empty one.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn new() -> io::Result<Self> {
        unnamed::file(c"coho-decisions").map(Self)
    }

    /// The environment variable that tells processes to write their decisions here.
    pub(crate) fn environment(&self) -> (OsString, OsString) {
        let path = format!("/proc/{}/fd/{}", process::id(), self.0.as_raw_fd());
        ("COHO_OPENMP_DECISIONS".into(), path.into())
    }

    /// What has been told.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn read(mut self) -> io::Result<Ran> {
        self.0.rewind()?;
        let mut text = String::new();
        self.0.take(MOST).read_to_string(&mut text)?;
        Ok(Ran::of(&text))
    }
}

/// By which runtimes a command's processes have run OpenMP. Processes that have none, and those into which nothing can be
/// preloaded, are not counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ran {
    /// By coho's teams.
    pub on_teams: usize,
    /// The runtimes that coho's teams have replaced, as `libgomp`.
    pub replaced: Vec<String>,
    /// By others: which and why, and in how many processes.
    pub otherwise: Vec<(Otherwise, usize)>,
    /// The numbers of threads that processes have chosen.
    pub choices: Vec<Choices>,
}

/// Why another runtime has run a process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Otherwise {
    /// The runtime, as `libomp`.
    pub runtime: String,
    /// The library's reason to stand aside.
    pub why: String,
}

/// What stands in a line of choices in place of the runtime's file.
const CHOICES: &str = "threads";
/// The reason of a user who does not want coho's teams.
const OFF: &str = "COHO_OPENMP=off";
/// How many functions of a list are named.
const NAMED: usize = 3;

impl Ran {
    /// From lines of a process, the runtime's file, and the decision; a process's last line holds. Beside them, lines of a
    /// process, the word `threads`, and its choices.
    fn of(text: &str) -> Self {
        let mut last = BTreeMap::new();
        let mut choices = Vec::new();
        for line in text.lines() {
            if let [process, file, decision] = line.splitn(3, '\t').collect::<Vec<_>>()[..] {
                if file == CHOICES {
                    choices.extend(serde_json::from_str::<Choices>(decision));
                    continue;
                }
                last.insert(process, (runtime(file), decision.strip_prefix("stands aside: ")));
            }
        }
        choices.sort_by_key(|one| one.pid);
        let mut ran = Self { choices, ..Self::default() };
        let mut otherwise = BTreeMap::new();
        for (runtime, aside) in last.into_values() {
            match aside {
                None => {
                    ran.on_teams += 1;
                    if !ran.replaced.contains(&runtime) {
                        ran.replaced.push(runtime);
                    }
                }
                Some(why) => *otherwise.entry(Otherwise { runtime, why: why.to_owned() }).or_insert(0) += 1,
            }
        }
        ran.otherwise = otherwise.into_iter().collect();
        ran
    }

    /// Whether nobody wanted anything else.
    pub fn is_off(&self) -> bool {
        self.on_teams == 0
            && !self.otherwise.is_empty()
            && self.otherwise.iter().all(|(one, _)| one.why == OFF)
    }
}

/// `libgomp` of `libgomp-a34b3233.so.1`.
fn runtime(file: &str) -> String {
    let name = file.split(".so").next().unwrap_or(file);
    let known = ["libgomp", "libomp", "libiomp5"].into_iter().find(|known| name.starts_with(known));
    known.unwrap_or(if name.is_empty() { "the program's own runtime" } else { name }).to_owned()
}

impl fmt::Display for Otherwise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shortened(&self.why))
    }
}

/// A reason that names only the first functions of its list.
fn shortened(why: &str) -> String {
    let words: Vec<_> = why.split(' ').collect();
    match words.split_first() {
        Some((&"imports", names)) if names.len() > NAMED + 1 => {
            format!("imports {} and {} more", names[..NAMED].join(" "), names.len() - NAMED)
        }
        _ => why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_processes_tell_is_summed_up() {
        let ran = Ran::of(
            "7\tlibgomp.so.1\ttaken over\n8\tlibomp.so.5\tstands aside: imports __kmpc_a __kmpc_b __kmpc_c __kmpc_d \
             __kmpc_e\n9\tlibgomp-a34b.so.1.0.0\ttaken over\n9\tlibgomp-a34b.so.1.0.0\tstands aside: imports \
             GOMP_x\nnonsense\n",
        );
        assert_eq!((ran.on_teams, &ran.replaced[..]), (1, &["libgomp".to_owned()][..]));
        let otherwise: Vec<_> = ran
            .otherwise
            .iter()
            .map(|(one, count)| (one.runtime.as_str(), one.to_string(), *count))
            .collect();
        assert_eq!(otherwise[0], ("libgomp", "imports GOMP_x".to_owned(), 1));
        assert_eq!((otherwise[1].0, otherwise[1].2), ("libomp", 1));
        assert_eq!(otherwise[1].1, "imports __kmpc_a __kmpc_b __kmpc_c and 2 more");
        assert!(!ran.is_off());
        let ran = Ran::of(
            "9\tthreads\t{\"pid\":9,\"kept\":null,\"regions\":[]}\n8\tlibgomp.so.1\ttaken over\n\
             8\tthreads\t{\"pid\":8,\"kept\":\"why\",\"regions\":[]}\n7\tthreads\t{\"pid\":\n",
        );
        assert_eq!(ran.choices.iter().map(|one| one.pid).collect::<Vec<_>>(), [8, 9]);
        assert_eq!((ran.on_teams, ran.choices[0].kept.as_deref()), (1, Some("why")));
        assert!(Ran::of("7\tlibgomp.so.1\tstands aside: COHO_OPENMP=off\n").is_off());
        assert_eq!(Ran::of(""), Ran::default());
    }

    #[test]
    fn a_file_in_memory_is_written_to_by_its_name() {
        let told = Told::new().unwrap();
        let (_, path) = told.environment();
        std::fs::OpenOptions::new()
            .append(true)
            .open(path)
            .and_then(|mut file| io::Write::write_all(&mut file, b"7\tlibgomp.so.1\ttaken over\n"))
            .unwrap();
        assert_eq!(told.read().unwrap().on_teams, 1);
    }
}
