//! A path's file and those that it includes: which entries they have, and in which lines.

use std::collections::HashMap;
use std::fmt::Display;

use toml::Spanned;

use super::entries::Entries;
use super::{Error, Reason};

/// The most bytes of one file, the most files that one may include, and the most entries of any list in them.
const MAX_TEXT: usize = 1 << 20;
const MAX_FILES: usize = 16;
const MAX_ENTRIES: usize = 256;

/// A path's file with those that it includes, read but not yet resolved against a profile.
#[derive(Debug)]
pub struct PathFile {
    /// Each file after those that it includes; the path's own file is the last.
    sources: Vec<Source>,
}

/// A file that was read.
#[derive(Debug)]
struct Source {
    name: String,
    text: String,
    entries: Entries,
}

/// Where something is in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    file: &'a str,
    text: &'a str,
    at: usize,
}

impl Place<'_> {
    /// The line, counted from 1.
    fn line(self) -> usize {
        1 + self.text.bytes().take(self.at).filter(|byte| *byte == b'\n').count()
    }

    /// An error in this line.
    pub fn error(self, reason: Reason) -> Error {
        Error::at(self.file, self.line(), reason)
    }

    /// That entries here do not go together, or that one is missing.
    pub fn unfit(self, message: impl Into<String>) -> Error {
        self.error(Reason::Entries(message.into()))
    }

    /// The place of something else in the same file.
    pub fn of<T>(self, inner: &Spanned<T>) -> Self {
        Self { at: inner.span().start, ..self }
    }
}

impl PathFile {
    /// Parses a path's text; `load` returns the text of each file that it includes, by name.
    ///
    /// # Errors
    /// With file and line, if it is not TOML, has a key that paths do not have or a value out of bounds, names a thing
    /// twice, or includes a file that `load` does not return or that includes it.
    pub fn parse<E: Display>(
        name: &str,
        text: &str,
        load: &dyn Fn(&str) -> Result<String, E>,
    ) -> Result<Self, Error> {
        let mut file = Self { sources: Vec::new() };
        file.add(name, text.to_owned(), load, &mut Vec::new())?;
        file.check_names()?;
        Ok(file)
    }

    /// What the path describes.
    pub fn about(&self) -> &str {
        &self.own().about
    }

    /// Where its figures come from.
    pub fn source(&self) -> &str {
        &self.own().source
    }

    /// The profile whose figures it uses where no other is named.
    pub fn profile(&self) -> Option<&str> {
        self.last(|entries| entries.profile.as_deref()).map(|(_, profile)| profile)
    }

    /// Whether some of its figures come from a profile.
    pub fn needs_profile(&self) -> bool {
        self.named(|entries| &entries.rates).any(|(_, _, rate)| rate.is_measured())
            || self.named(|entries| &entries.costs).any(|(_, _, cost)| cost.is_measured())
    }

    fn add<E: Display>(
        &mut self,
        name: &str,
        text: String,
        load: &dyn Fn(&str) -> Result<String, E>,
        within: &mut Vec<String>,
    ) -> Result<(), Error> {
        if text.len() > MAX_TEXT {
            return Err(Error::of_file(
                name,
                Reason::TooMany(format!("{} bytes; a path has at most {MAX_TEXT}", text.len())),
            ));
        }
        let place = |at| Place { file: name, text: &text, at };
        let entries: Entries = toml::from_str(&text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            place(at).error(Reason::Toml(error.message().to_owned()))
        })?;
        within.push(name.to_owned());
        for include in &entries.include {
            let (place, other) = (place(include.span().start), include.get_ref());
            if within.contains(other) {
                return Err(place.error(Reason::Cycle(format!("'{}' include", chain(within, other)))));
            }
            if self.sources.len() + within.len() >= MAX_FILES {
                return Err(place.error(Reason::TooMany(format!("more than {MAX_FILES} files"))));
            }
            let include = |why: E| Reason::Include { name: other.clone(), why: why.to_string() };
            let text = load(other).map_err(|why| place.error(include(why)))?;
            self.add(other, text, load, within)?;
        }
        within.pop();
        self.sources.push(Source { name: name.to_owned(), text, entries });
        Ok(())
    }

    fn check_names(&self) -> Result<(), Error> {
        unique("instruction", self.list(|entries| &entries.instructions).map(|(at, name)| (at, &**name)))?;
        unique("rate", self.named(|entries| &entries.rates).map(|(at, name, _)| (at, name)))?;
        unique("cost", self.named(|entries| &entries.costs).map(|(at, name, _)| (at, name)))?;
        unique("stage", self.list(|entries| &entries.stage).map(|(at, one)| (at, &*one.name)))?;
        unique("variant", self.list(|entries| &entries.variant).map(|(at, one)| (at, &*one.name)))?;
        unique("figure", self.list(|entries| &entries.figure).map(|(at, one)| (at, &*one.name)))?;
        unique("crossover", self.list(|entries| &entries.crossover).map(|(at, one)| (at, &*one.name)))?;
        unique("statement", self.list(|entries| &entries.statement).map(|(at, one)| (at, &*one.text)))
    }

    /// The entries of the path's own file.
    pub(super) fn own(&self) -> &Entries {
        &self.sources[self.sources.len() - 1].entries
    }

    /// All entries of a list.
    pub(super) fn list<'a, T: 'a>(
        &'a self,
        of: impl Fn(&'a Entries) -> &'a Vec<Spanned<T>>,
    ) -> impl Iterator<Item = (Place<'a>, &'a T)> {
        self.sources.iter().flat_map(move |source| {
            of(&source.entries).iter().map(|entry| (source.place().of(entry), entry.get_ref()))
        })
    }

    /// All entries of a table, with their names.
    pub(super) fn named<'a, T: 'a>(
        &'a self,
        of: impl Fn(&'a Entries) -> &'a std::collections::BTreeMap<Spanned<String>, T>,
    ) -> impl Iterator<Item = (Place<'a>, &'a str, &'a T)> {
        self.sources.iter().flat_map(move |source| {
            of(&source.entries)
                .iter()
                .map(|(name, entry)| (source.place().of(name), name.get_ref().as_str(), entry))
        })
    }

    /// What there can be only one of: the including file has the last word.
    pub(super) fn last<'a, T: 'a>(&'a self, of: impl Fn(&'a Entries) -> Option<T>) -> Option<(Place<'a>, T)> {
        self.sources.iter().rev().find_map(|source| Some((source.place(), of(&source.entries)?)))
    }

    /// An error about the file as a whole.
    pub(super) fn error(&self, reason: Reason) -> Error {
        Error::of_file(&self.sources[self.sources.len() - 1].name, reason)
    }
}

impl Source {
    fn place(&self) -> Place<'_> {
        Place { file: &self.name, text: &self.text, at: 0 }
    }
}

/// Fails if two entries of a kind have the same name, or if there are too many.
fn unique<'a>(what: &'static str, entries: impl Iterator<Item = (Place<'a>, &'a str)>) -> Result<(), Error> {
    let mut seen = HashMap::new();
    for (place, name) in entries {
        if seen.len() == MAX_ENTRIES {
            return Err(
                place.error(Reason::TooMany(format!("more than {MAX_ENTRIES} entries of kind {what}")))
            );
        }
        if let Some(first) = seen.insert(name, place) {
            let (file, line) = (first.file.to_owned(), first.line());
            return Err(place.error(Reason::Twice { what, name: name.to_owned(), file, line }));
        }
    }
    Ok(())
}

/// `a → b → a`.
pub(super) fn chain(before: &[impl AsRef<str>], last: &str) -> String {
    let names = before.iter().map(AsRef::as_ref).skip_while(|name| *name != last).chain([last]);
    names.collect::<Vec<_>>().join(" → ")
}
