//! Reading what `sysctl kern.sched.topology_spec` prints.

use super::{Flag, Group, Spec};
use crate::bounds::Budget;
use crate::xml::{Element, Node, Reader};
use crate::{CpuSet, Error, MAX_CPUS};

/// Reads the XML, with or without the `kern.sched.topology_spec:` that `sysctl` prints before it, and masks of any
/// number of words. Unknown flags are kept.
///
/// # Errors
/// If it is not such XML, or if count, mask and list of a group, or a group and its children, contradict each other;
/// the error names the line.
///
/// ```
/// let text = r#"<groups><group level="1" cache-level="3">
///     <cpu count="2" mask="3,0,0,0">0, 1</cpu></group></groups>"#;
/// assert_eq!(coho_topology::freebsd::parse(text)?.root.shape(), "L3/2");
/// # Ok::<(), coho_topology::Error>(())
/// ```
pub fn parse(text: &str) -> Result<Spec, Error> {
    let start = text.find('<').ok_or_else(|| Error::at_line(1, "holds no XML"))?;
    let prefix = text[..start].trim().trim_end_matches([':', '=']).trim_end();
    if !prefix.is_empty() && prefix != "kern.sched.topology_spec" {
        return Err(Error::at_line(1, "text before <groups> is not 'kern.sched.topology_spec:'"));
    }
    let mut reader = Reader::new(&text[start..], 1 + text[..start].matches('\n').count());
    let mut parser = Parser { budget: Budget::default() };
    let spec = parser.spec(&mut reader)?;
    match next_element(&mut reader)? {
        Some(more) => Err(more.error(format!("<{}> follows </groups>", more.name))),
        None => Ok(spec),
    }
}

struct Parser {
    budget: Budget,
}

impl Parser {
    fn spec(&mut self, reader: &mut Reader<'_>) -> Result<Spec, Error> {
        let groups = next_element(reader)?.ok_or_else(|| reader.error("holds no <groups>"))?;
        expect(&groups, "groups")?;
        let root = next_element(reader)?.ok_or_else(|| groups.error("<groups> is empty"))?;
        let root = self.group(reader, &root, 1)?;
        match next_element(reader)? {
            Some(second) => Err(second.error("there is a second group beside that of all CPUs")),
            None => Ok(Spec { root }),
        }
    }

    fn group(&mut self, reader: &mut Reader<'_>, element: &Element, level: usize) -> Result<Group, Error> {
        expect(element, "group")?;
        if element.number("level")? != Some(level) {
            return Err(element.error(format!("a group at level {level} names another level, or none")));
        }
        let cache_level = element.number("cache-level")?;
        let cache_level = cache_level.ok_or_else(|| element.error("a group has no cache-level"))?;
        if cache_level > 4 {
            return Err(element.error(format!("no machine has a level {cache_level} cache")));
        }
        let mut group = Group { cache_level, ..Group::default() };
        while let Some(part) = next_element(reader)? {
            match part.name.as_str() {
                "cpu" if group.cpus.is_empty() => {
                    group.cpus = cpus(reader, &part)?;
                    self.budget.charge(&group.cpus).map_err(|error| error.or_line(part.line))?;
                }
                "flags" => group.flags = flags(reader)?,
                "children" => {
                    while let Some(child) = next_element(reader)? {
                        let line = child.line;
                        let child = self.group(reader, &child, level + 1)?;
                        if !child.cpus.is_subset(&group.cpus) {
                            let message = format!(
                                "CPU {} is not in the enclosing group",
                                child.cpus.difference(&group.cpus)
                            );
                            return Err(Error::at_line(line, message));
                        }
                        group.children.push(child);
                    }
                }
                other => return Err(part.error(format!("<{other}> has no place in a group"))),
            }
        }
        if group.cpus.is_empty() {
            return Err(element.error("a group has no CPU"));
        }
        let mut seen = CpuSet::new();
        for child in &group.children {
            if child.cpus.intersects(&seen) {
                return Err(
                    element.error(format!("CPU {} is in two children", child.cpus.intersection(&seen)))
                );
            }
            seen = seen.union(&child.cpus);
        }
        Ok(group)
    }
}

/// The three ways in which a group names its CPUs have to agree.
fn cpus(reader: &mut Reader<'_>, element: &Element) -> Result<CpuSet, Error> {
    let mask = mask(element)?;
    let count: Option<usize> = element.number("count")?;
    let text = reader.text_to_close()?;
    let list = list(&text).map_err(|error| error.or_line(element.line))?;
    if count != Some(list.len()) || mask != list {
        let count = count.map_or_else(|| "no number".to_owned(), |count| count.to_string());
        return Err(element.error(format!(
            "count ({count}), mask (CPUs {mask}) and list (CPUs {list}) of a group contradict each other"
        )));
    }
    Ok(list)
}

/// `0, 1, 2`: each CPU by itself, no ranges.
fn list(text: &str) -> Result<CpuSet, Error> {
    let mut list = CpuSet::new();
    for word in text.split(',') {
        let word = word.trim();
        let cpu = word.parse().map_err(|_| {
            let start: String = word.chars().take(40).collect();
            Error::new(format!("'{start}' in a group's list is not a CPU number"))
        })?;
        if !list.try_insert(cpu)? {
            return Err(Error::new(format!("CPU {cpu} occurs twice in a group's list")));
        }
    }
    Ok(list)
}

fn mask(element: &Element) -> Result<CpuSet, Error> {
    let text = element.require("mask")?;
    let mut words = Vec::new();
    for word in text.split(',') {
        let word = word.trim();
        if words.len() == MAX_CPUS as usize / 64 {
            return Err(element.error("the mask is longer than any machine's"));
        }
        let digits = word.strip_prefix("0x").unwrap_or(word);
        words.push(u64::from_str_radix(digits, 16).map_err(|_| {
            let start: String = word.chars().take(40).collect();
            element.error(format!("'{start}' in a mask is not a hexadecimal word of 64 bits"))
        })?);
    }
    CpuSet::try_from_words(&words).map_err(|error| Error::from(error).or_line(element.line))
}

fn flags(reader: &mut Reader<'_>) -> Result<Vec<Flag>, Error> {
    let mut flags = Vec::new();
    while let Some(element) = next_element(reader)? {
        expect(&element, "flag")?;
        if flags.len() == 16 {
            return Err(element.error("a group has more than 16 flags"));
        }
        let name = element.require("name")?.to_owned();
        let text = reader.text_to_close()?;
        flags.push(Flag::of(name, text));
    }
    Ok(flags)
}

/// The next element inside the one opened last; `None` at its end.
fn next_element(reader: &mut Reader<'_>) -> Result<Option<Element>, Error> {
    loop {
        match reader.next()? {
            Node::Open(element) => return Ok(Some(element)),
            Node::Close | Node::End => return Ok(None),
            Node::Text(text) if text.trim().is_empty() => {}
            Node::Text(text) => {
                let start: String = text.trim().chars().take(40).collect();
                return Err(reader.error(format!("text '{start}' has no place here")));
            }
        }
    }
}

fn expect(element: &Element, name: &str) -> Result<(), Error> {
    match element.name == name {
        true => Ok(()),
        false => Err(element.error(format!("<{}> was found where <{name}> is expected", element.name))),
    }
}
