//! Writing the text of `kern.sched.topology_spec`, byte for byte as sys/kern/sched_ule.c does.

use std::fmt::Write;

use super::{Flag, Group, Spec};
use crate::{CpuSet, Error};

impl Spec {
    /// The XML, with CPU masks of `words` 64-bit words: 4 if MAXCPU is 256, 16 if it is 1024.
    ///
    /// # Errors
    /// If a CPU does not fit the mask.
    pub fn to_xml(&self, words: usize) -> Result<String, Error> {
        let needed = self.root.cpus.words().len();
        if needed > words {
            return Err(Error::new(format!(
                "CPU {} does not fit a mask of {words} words: it takes {needed}",
                self.root.cpus.last().unwrap_or_default()
            )));
        }
        let mut out = "<groups>\n".to_owned();
        group(&mut out, &self.root, 1, words);
        out += "</groups>\n";
        Ok(out)
    }
}

fn group(out: &mut String, group: &Group, indent: usize, words: usize) {
    let pad = " ".repeat(indent);
    let Group { cache_level, cpus, flags, children } = group;
    let _ = writeln!(out, "{pad}<group level=\"{}\" cache-level=\"{cache_level}\">", 1 + indent / 2);
    let list: Vec<String> = cpus.iter().map(|cpu| cpu.to_string()).collect();
    let (count, mask) = (cpus.len(), mask(cpus, words));
    let _ = writeln!(out, "{pad} <cpu count=\"{count}\" mask=\"{mask}\">{}</cpu>", list.join(", "));
    if !flags.is_empty() {
        let flags: String = flags.iter().map(flag).collect();
        let _ = writeln!(out, "{pad} <flags>{flags}</flags>");
    }
    if !children.is_empty() {
        let _ = writeln!(out, "{pad} <children>");
        for child in children {
            self::group(out, child, indent + 2, words);
        }
        let _ = writeln!(out, "{pad} </children>");
    }
    let _ = writeln!(out, "{pad}</group>");
}

fn flag(flag: &Flag) -> String {
    use quick_xml::escape::escape;
    format!("<flag name=\"{}\">{}</flag>", escape(flag.name()), escape(flag.text()))
}

/// Hexadecimal words, the least significant first.
fn mask(cpus: &CpuSet, words: usize) -> String {
    let word = |index| cpus.words().get(index).copied().unwrap_or(0);
    let words: Vec<String> = (0..words).map(|index| format!("{:x}", word(index))).collect();
    words.join(",")
}

impl Group {
    /// The group's shape on one line: `L0/4{2x L2/2+SMT}` is four CPUs that share no cache, in two groups
    /// of two threads that share an L2. Flags of coho's own are left out.
    pub fn shape(&self) -> String {
        let mut shape = format!("L{}/{}", self.cache_level, self.cpus.len());
        let shown = |flag: &&Flag| !matches!(flag, Flag::Thread | Flag::Object { .. });
        for flag in self.flags.iter().filter(shown) {
            let _ = write!(shape, "+{}", flag.name());
        }
        let mut kinds: Vec<(String, usize)> = Vec::new();
        for child in self.children.iter().map(Group::shape) {
            match kinds.iter_mut().find(|(known, _)| *known == child) {
                Some((_, count)) => *count += 1,
                None => kinds.push((child, 1)),
            }
        }
        if !kinds.is_empty() {
            let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count}x {kind}")).collect();
            let _ = write!(shape, "{{{}}}", kinds.join(" "));
        }
        shape
    }
}
