//! The CPUs of a dump: which answers belong to which, and which sub-leaf an unnumbered line answers.
//!
//! The rules for every dialect that prints one CPU after another:
//!
//! - A heading begins a CPU. A heading that repeats continues its CPU, as long as no answer contradicts an earlier one;
//!   with another affinity mask it begins another CPU, whatever its number.
//! - EVEREST counts CPUs from 1, and so does a heading in its form, unless one of them has the number 0.
//! - Without any heading, leaf 0 begins the next CPU, since every tool prints it first and once. CPUs are then numbered
//!   in the order of the file. Under a heading, a second leaf 0 is an error.
//! - Consecutive lines of one leaf without a sub-leaf number answer sub-leaves 0, 1, 2 and so on.
//! - Two different answers to one question are an error if they decide the topology. Otherwise the first counts.

use std::collections::{BTreeMap, BTreeSet};

use crate::cpuid::dump::{Builder, CpuAnswers, Dump, Registers, takes_subleaf};
use crate::{Error, MAX_CPUS};

/// A line that says which CPU's answers follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading {
    /// The words around the number.
    pub(super) form: String,
    /// As printed; `None` if a tool that asked one CPU leaves it out.
    pub(super) number: Option<u32>,
    /// EVEREST counts CPUs from 1, those who took over its form some times from 0.
    pub(super) from_one: bool,
    /// What follows `AffMask:`. It tells CPUs apart, but not which: some tools write masks, some count.
    pub(super) mask: Option<String>,
    /// EVEREST marks the further threads of a core: these have the number of another CPU, or one of their own.
    pub(super) is_virtual: bool,
}

/// The answers below a heading.
#[derive(Debug, Default)]
struct Section {
    heading: Option<Heading>,
    /// Where it begins.
    line: usize,
    answers: CpuAnswers,
    /// Leaf and sub-leaf of the latest answer.
    latest: Option<(u32, u32)>,
}

/// Collects a dump line by line.
#[derive(Debug, Default)]
pub(super) struct Sections {
    sections: Vec<Section>,
    with_headings: bool,
}

impl Sections {
    /// Begins a CPU.
    pub(super) fn begin(&mut self, line: usize, heading: Heading) -> Result<(), Error> {
        self.with_headings = true;
        self.push(Section { heading: Some(heading), line, ..Section::default() })
    }

    fn push(&mut self, section: Section) -> Result<(), Error> {
        if self.sections.len() >= MAX_CPUS as usize {
            return Err(Error::at_line(section.line, format!("more than {MAX_CPUS} CPUs")));
        }
        self.sections.push(section);
        Ok(())
    }

    /// Whether the CPU has answered this question.
    pub(super) fn knows(&self, leaf: u32, subleaf: u32) -> bool {
        self.sections.last().is_some_and(|section| section.answers.leaves.contains_key(&(leaf, subleaf)))
    }

    /// Records an answer; `subleaf` is `None` if the line does not number it.
    pub(super) fn answer(
        &mut self,
        line: usize,
        leaf: u32,
        subleaf: Option<u32>,
        registers: Registers,
    ) -> Result<(), Error> {
        let next = leaf == 0 && !self.with_headings && self.knows(0, 0);
        if next || self.sections.is_empty() {
            self.push(Section { line, ..Section::default() })?;
        }
        let section = self.sections.last_mut().expect("one was pushed where there was none");
        section.answer(leaf, subleaf, registers).map_err(|error| error.or_line(line))
    }

    /// The dump.
    ///
    /// # Errors
    /// If a CPU's answers are missing, or two CPUs' answers have the same number.
    pub(super) fn finish(self) -> Result<Dump, Error> {
        let forms: BTreeSet<String> = self
            .sections
            .iter()
            .filter(|section| section.holds_answers())
            .filter_map(Section::form)
            .collect();
        let zero = |heading: &Heading| heading.from_one && heading.number == Some(0);
        let from_zero = self.sections.iter().filter_map(|section| section.heading.as_ref()).any(zero);
        let mut numbered = BTreeMap::<u32, CpuAnswers>::new();
        let mut masks = BTreeMap::<u32, Vec<Option<String>>>::new();
        let mut empty = Vec::new();
        let mut unnumbered = Vec::new();
        for section in self.sections {
            match section.number(from_zero) {
                Some(number) if section.holds_answers() => match numbered.get_mut(&number) {
                    None => {
                        masks.insert(number, vec![section.mask()]);
                        numbered.insert(number, section.answers);
                    }
                    Some(_) if section.is_of_another_mask(masks.entry(number).or_default()) => {
                        unnumbered.push(section.answers);
                    }
                    Some(known) => unnumbered.extend(section.joined_to(known, number)?),
                },
                // Other parts of a report have headings of their own.
                Some(number) if section.form().is_some_and(|form| forms.contains(&form)) => {
                    empty.push((number, section.line));
                }
                None if section.holds_answers() => unnumbered.push(section.answers),
                _ => {}
            }
        }
        for (number, line) in empty {
            if !numbered.contains_key(&number) {
                return Err(Error::at_line(line, format!("CPU {number} has a heading, but no answers")));
            }
        }
        let free: Vec<u32> =
            (0..).filter(|number| !numbered.contains_key(number)).take(unnumbered.len()).collect();
        numbered.extend(free.into_iter().zip(unnumbered));
        let mut dump = Builder::default();
        for (number, answers) in numbered {
            *dump.cpu(number)? = CpuAnswers { os: number, ..answers };
        }
        dump.finish()
    }
}

impl Section {
    fn holds_answers(&self) -> bool {
        !self.answers.leaves.is_empty()
    }

    fn form(&self) -> Option<String> {
        self.heading.as_ref().map(|heading| heading.form.clone())
    }

    /// The operating system's number of the CPU, if the heading has one.
    fn number(&self, from_zero: bool) -> Option<u32> {
        let heading = self.heading.as_ref()?;
        heading.number.map(|number| number - u32::from(heading.from_one && !from_zero))
    }

    fn mask(&self) -> Option<String> {
        self.heading.as_ref().and_then(|heading| heading.mask.clone())
    }

    /// Whether its affinity mask is none of those, which it joins.
    fn is_of_another_mask(&self, known: &mut Vec<Option<String>>) -> bool {
        let mask = self.mask();
        let new = mask.is_some() && !known.contains(&mask) && !known.contains(&None);
        if new {
            known.push(mask);
        }
        new
    }

    fn answer(&mut self, leaf: u32, subleaf: Option<u32>, registers: Registers) -> Result<(), Error> {
        let question = match (subleaf, self.latest) {
            (Some(subleaf), _) => subleaf,
            (None, Some((latest, subleaf))) if latest == leaf && takes_subleaf(leaf) => {
                subleaf.saturating_add(1)
            }
            (None, _) => 0,
        };
        self.latest = Some((leaf, question));
        // The tool asked for more sub-leaves, but the CPU ignores ECX.
        if question > 0 && !takes_subleaf(leaf) {
            return Ok(());
        }
        if let Some(known) = self.answers.leaves.get(&(leaf, question))
            && (leaf == 0 || *known != registers && is_decoded(leaf))
        {
            return Err(Error::new(format!(
                "leaf {leaf:#x} is answered twice for one CPU: the next CPU's heading is missing or not recognised"
            )));
        }
        self.answers.answer(leaf, Some(question), registers);
        Ok(())
    }

    /// Joins a repeated heading's answers to those known of the CPU; returns them if they are another CPU's.
    fn joined_to(self, known: &mut CpuAnswers, number: u32) -> Result<Option<CpuAnswers>, Error> {
        let contradicts = |(question, answer): (&(u32, u32), &Registers)| {
            is_decoded(question.0) && known.leaves.get(question).is_some_and(|known| known != answer)
        };
        if !self.answers.leaves.iter().any(contradicts) {
            for (question, answer) in self.answers.leaves {
                known.leaves.entry(question).or_insert(answer);
            }
            return Ok(None);
        }
        if self.heading.is_some_and(|heading| heading.is_virtual) {
            return Ok(Some(self.answers));
        }
        Err(Error::at_line(self.line, format!("a second heading for CPU {number}, with other answers")))
    }
}

/// Whether a leaf decides the topology.
fn is_decoded(leaf: u32) -> bool {
    matches!(leaf, 0 | 1 | 2 | 4 | 0xB | 0x1A | 0x1F)
        || matches!(leaf, 0x8000_0000..=0x8000_0008 | 0x8000_001D | 0x8000_001E | 0x8000_0026)
}
