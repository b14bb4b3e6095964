//! The surveys of many machines, in few bytes each.

use std::collections::HashMap;

use coho_profile::{Estimate, Quantity};

use super::facts::{FACTS, IDENTITY};
use super::names::Names;
use super::report::{MissingHost, Note};
use super::row::WORST;
use super::surveyed::Surveyed;

/// The most kinds of figures by which machines are told apart; surveys of one version of coho have some hundreds.
pub(super) const MOST_FIGURES: usize = 20_000;
/// A number for what is not known.
const UNKNOWN: u32 = u32::MAX;

/// The surveys of many machines.
#[derive(Debug, Default)]
pub struct Fleet {
    /// Names, facts, sentences and files.
    pub(super) names: Names,
    /// The kinds of figures by which machines are told apart.
    pub(super) figures: Vec<Kind>,
    by_figure: HashMap<(&'static str, u32), u32>,
    pub(super) machines: Vec<Machine>,
    by_name: HashMap<u32, Vec<u32>>,
    by_fingerprint: HashMap<u64, u32>,
    /// What is worth knowing of the surveys themselves.
    pub(super) notes: Vec<Note>,
    pub(super) missing: Vec<MissingHost>,
    left_out: usize,
}

/// What a figure is of.
#[derive(Debug, Clone)]
pub(super) struct Kind {
    pub(super) quantity: &'static Quantity,
    pub(super) parameters: u32,
}

/// A machine with its surveys.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) name: u32,
    pub(super) surveys: Vec<Survey>,
}

/// One of a machine's surveys.
#[derive(Debug)]
pub(super) struct Survey {
    /// As text, which sorts as time does; empty if it is not known.
    pub(super) date: String,
    facts: Box<[u32]>,
    pub(super) values: Box<[Kept]>,
    /// Kinds of findings, and their sentences.
    pub(super) warnings: Box<[(&'static str, u32)]>,
}

/// One figure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    pub(super) figure: u32,
    pub(super) passes: u32,
    pub(super) n: u64,
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Whether something else had the CPUs meanwhile.
    pub(super) is_disturbed: bool,
    /// Whether the measurement ended early.
    pub(super) is_cut: bool,
    /// Where the worst of several is.
    pub(super) condition: u32,
}

impl Kept {
    pub(super) fn estimate(&self) -> Estimate {
        let Self { value, low, high, n, .. } = *self;
        Estimate { low, high, min: low, n, passes: self.passes.into(), ..Estimate::exact(value) }
    }
}

impl Survey {
    pub(super) fn fact<'a>(&self, at: usize, names: &'a Names) -> Option<&'a str> {
        let number = *self.facts.get(at)?;
        (number != UNKNOWN).then(|| names.text(number))
    }
}

impl Machine {
    /// The latest survey.
    pub(super) fn latest(&self) -> Option<&Survey> {
        self.surveys.last()
    }
}

impl Fleet {
    /// No machine yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many machines there are.
    pub fn machines(&self) -> usize {
        self.machines.len()
    }

    /// Adds a survey, and gives it its machine's name: machines that are called alike but have other CPUs are told apart.
    ///
    /// # Errors
    /// If the same survey is there already: the reason to skip it.
    pub fn add(&mut self, survey: &mut Surveyed) -> Result<(), String> {
        let fingerprint = survey.fingerprint();
        if let Some(first) = fingerprint.and_then(|sum| self.by_fingerprint.get(&sum)) {
            return Err(format!("it holds the same survey as {}", self.names.text(*first)));
        }
        let file = self.names.number(&survey.file);
        if let Some(sum) = fingerprint {
            self.by_fingerprint.insert(sum, file);
        }
        let kept = self.kept(survey);
        let at = self.machine_of(survey, &kept);
        survey.machine = self.machine_name(at);
        let surveys = &mut self.machines[at].surveys;
        // Those without a date come first, in the order of their files.
        let place = surveys.partition_point(|other| other.date <= kept.date);
        surveys.insert(place, kept);
        Ok(())
    }

    /// What a machine is called.
    pub(super) fn machine_name(&self, at: usize) -> String {
        self.names.text(self.machines[at].name).to_owned()
    }

    /// Adds a host that was to be surveyed.
    pub fn lacks(&mut self, host: MissingHost) {
        self.missing.push(host);
    }

    /// The hosts that were to be surveyed and have no profile.
    pub fn missing(&self) -> &[MissingHost] {
        &self.missing
    }

    /// Notes something about a machine's surveys.
    pub fn note(&mut self, machine: impl Into<String>, text: impl Into<String>) {
        self.notes.push(Note { machine: machine.into(), text: text.into() });
    }

    /// The place of a survey's machine, which is made if it is new.
    fn machine_of(&mut self, survey: &Surveyed, kept: &Survey) -> usize {
        let asked = self.names.number(&survey.machine);
        let alike = self.by_name.entry(asked).or_default();
        let is_same = |at: &&u32| {
            let known = self.machines[**at as usize].latest();
            known.is_none_or(|known| is_one_machine(known, kept))
        };
        if let Some(at) = alike.iter().find(is_same) {
            return *at as usize;
        }
        alike.push(self.machines.len() as u32);
        let name = match alike.len() {
            1 => asked,
            n => {
                let name = format!("{} ({n})", survey.machine);
                let text = format!(
                    "{} says that it is a machine of another CPU than the other '{}'",
                    survey.file, survey.machine
                );
                self.notes.push(Note { machine: name.clone(), text });
                self.names.number(&name)
            }
        };
        self.machines.push(Machine { name, surveys: Vec::new() });
        self.machines.len() - 1
    }

    fn kept(&mut self, survey: &Surveyed) -> Survey {
        let facts = survey.facts.iter();
        let facts =
            facts.map(|fact| fact.as_deref().map_or(UNKNOWN, |fact| self.names.number(fact))).collect();
        let warnings =
            survey.warnings.iter().map(|(id, sentence)| (*id, self.names.number(sentence))).collect();
        let mut values = Vec::new();
        for row in survey.rows.iter().filter(|row| row.quantity.headline) {
            let parameters = self.names.number(&row.parameters);
            let next = self.figures.len() as u32;
            let figure = match self.by_figure.get(&(row.key, parameters)) {
                Some(figure) => *figure,
                None if self.figures.len() < MOST_FIGURES => {
                    self.figures.push(Kind { quantity: row.quantity, parameters });
                    self.by_figure.insert((row.key, parameters), next);
                    next
                }
                None => {
                    self.left_out += 1;
                    continue;
                }
            };
            let worst = row.parameters.ends_with(WORST);
            let place = row.condition.split(';').next().filter(|_| worst).unwrap_or_default();
            values.push(Kept {
                figure,
                passes: row.passes.min(u64::from(u32::MAX)) as u32,
                n: row.n,
                value: row.value,
                low: row.low,
                high: row.high,
                is_disturbed: !row.disturbed.is_empty(),
                is_cut: row.is_cut,
                condition: self.names.number(place),
            });
        }
        Survey { date: survey.date.clone().unwrap_or_default(), facts, values: values.into(), warnings }
    }

    /// How many figures were too many kinds to be kept.
    pub(super) fn left_out(&self) -> usize {
        self.left_out
    }

    /// What a figure is called: `memory.rate op=read bytes=512`.
    pub(super) fn name_of(&self, figure: u32) -> String {
        let kind = &self.figures[figure as usize];
        let parameters = self.names.text(kind.parameters);
        let space = if parameters.is_empty() { "" } else { " " };
        format!("{}{space}{parameters}", kind.quantity.key)
    }
}

/// Whether two surveys may be of one machine.
fn is_one_machine(one: &Survey, other: &Survey) -> bool {
    let differs = |(at, (name, _)): (usize, &super::facts::Fact)| {
        let both = [one.facts[at], other.facts[at]];
        IDENTITY.contains(name) && !both.contains(&UNKNOWN) && both[0] != both[1]
    };
    !FACTS.iter().enumerate().any(differs)
}
