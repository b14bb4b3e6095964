//! The calls whose curves are measured: each with one file at home and another away, so that neither core has to fetch
//! the kernel's lines about its file from the other.

use std::path::Path;

use super::super::Options;
use super::super::catalogue;
use super::super::request::Request;
use super::super::scratch::Scratch;
use super::super::subject::Act;
use crate::Error;

/// A call, made at home and on another core.
pub(super) struct Deed {
    pub(super) call: &'static str,
    pub(super) payload_bytes: usize,
    /// The file system of its file.
    pub(super) filesystem: Option<String>,
    pub(super) home: Act,
    pub(super) away: Act,
}

impl Deed {
    /// Its name for people.
    pub(super) fn name(&self) -> String {
        let payload =
            if self.payload_bytes > 0 { format!("({})", self.payload_bytes) } else { String::new() };
        let place = self.filesystem.as_ref().map_or_else(String::new, |name| format!(" on {name}"));
        format!("{}{payload}{place}", self.call)
    }
}

/// The calls, and those that are left out, by name with the reason.
pub(super) struct Deeds {
    pub(super) all: Vec<Deed>,
    pub(super) refused: Vec<(String, String)>,
    /// The folders of their files, which are removed when this is dropped.
    pub(super) places: Vec<Scratch>,
}

impl Deeds {
    /// The calls of `options`: on a tmpfs, and those on files in `folder` as well.
    ///
    /// # Errors
    /// If no folder can be written for the calls' files.
    pub(super) fn new(options: &Options, folder: Option<&Path>) -> Result<Self, Error> {
        let mut deeds = Self { all: Vec::new(), refused: Vec::new(), places: vec![Scratch::create()?] };
        if let Some(folder) = folder {
            match Scratch::within(folder) {
                Ok(scratch) if scratch.filesystem() == deeds.places[0].filesystem() => {
                    let why = format!("files in it lie on {}, too", scratch.filesystem());
                    deeds.refused.push(("working folder".into(), why));
                }
                Ok(scratch) => deeds.places.push(scratch),
                Err(error) => deeds.refused.push(("working folder".into(), error.to_string())),
            }
        }
        for request in catalogue::requests(options) {
            if let Some(why) = request.entry().no_curve {
                deeds.refused.push((request.to_string(), why.into()));
                continue;
            }
            for place in 0..deeds.places.len() {
                if place == 0 || request.entry().depends_on_file_system() {
                    deeds.add(request, place);
                }
            }
        }
        Ok(deeds)
    }

    fn add(&mut self, request: Request, place: usize) {
        let scratch = &self.places[place];
        match (act(request, &scratch.beside("home")), act(request, &scratch.beside("away"))) {
            (Ok(home), Ok(away)) => self.all.push(Deed {
                call: request.name(),
                payload_bytes: request.moved(),
                filesystem: request.entry().is_on_file.then(|| scratch.filesystem().to_owned()),
                home,
                away,
            }),
            (Err(why), _) | (_, Err(why)) => self.refused.push((request.to_string(), why)),
        }
    }
}

/// The call as the instruction where it has that form, so that both cores execute the same.
pub(super) fn act(request: Request, scratch: &Scratch) -> Result<Act, String> {
    catalogue::barest(request, scratch).map_err(|error| error.to_string())
}
