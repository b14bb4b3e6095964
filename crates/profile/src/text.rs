//! The sections of a profile file as text, so that an update leaves those it does not change exactly as they are.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::Profile;
use crate::file::Error;

/// The members of a profile's object in their order, each with its text.
pub(crate) struct Sections<'a>(Vec<(String, Cow<'a, str>)>);

impl<'a> Sections<'a> {
    /// Splits a profile's text into its sections.
    ///
    /// # Errors
    /// If it is not a JSON object.
    pub(crate) fn read(text: &'a str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(Error::from_json)
    }

    /// Puts in the current schema and the sections that this version does not know.
    ///
    /// # Errors
    /// If one cannot be serialised.
    pub(crate) fn put_rest(&mut self, before: &Profile, after: &Profile) -> Result<(), Error> {
        if before.schema != after.schema {
            self.set("schema", Some(&after.schema))?;
        }
        for (name, section) in &after.unknown {
            if before.unknown.get(name) != Some(section) {
                self.set(name, Some(section))?;
            }
        }
        self.0.retain(|(name, _)| !before.unknown.contains_key(name) || after.unknown.contains_key(name));
        Ok(())
    }

    /// Puts a section in, replacing an earlier one, or removes it.
    ///
    /// # Errors
    /// If it cannot be serialised.
    pub(crate) fn set<T: Serialize>(&mut self, name: &str, section: Option<&T>) -> Result<(), Error> {
        let Some(section) = section else {
            self.0.retain(|(other, _)| other != name);
            return Ok(());
        };
        // No JSON string contains a line break, so every line break ends a line of the section.
        let text = serde_json::to_string_pretty(section).map_err(Error::from_json)?.replace('\n', "\n  ");
        match self.0.iter_mut().find(|(other, _)| other == name) {
            Some((_, old)) => *old = text.into(),
            None => self.0.push((name.into(), text.into())),
        }
        Ok(())
    }

    /// Writes the object with a final newline.
    ///
    /// # Errors
    /// If `out` cannot be written to.
    pub(crate) fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let mut before = "{";
        for (name, text) in &self.0 {
            write!(out, "{before}\n  {}: {text}", serde_json::to_string(name)?)?;
            before = ",";
        }
        out.write_all(b"\n}\n")
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Sections<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Sections<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a profile")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Sections<'de>, A::Error> {
        let mut sections = Vec::new();
        while let Some((name, text)) = map.next_entry::<String, &RawValue>()? {
            sections.push((name, Cow::Borrowed(text.get())));
        }
        Ok(Sections(sections))
    }
}
