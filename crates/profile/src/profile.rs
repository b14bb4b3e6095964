//! A whole profile and its schema.

use std::collections::BTreeMap;
use std::path::Path;

use coho_topology::{Counts, Topology};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::cpuid::CpuidAnswer;
use crate::file::{Error, is_stream, read_open, write_atomic_by};
use crate::read_text;
use crate::replacement::Replacement;
use crate::rest::{Known, Rest, keeps_unknown};
use crate::section::{Figure, Figures, Listed, Section, Stored};
use crate::text::Sections;

/// The schema that this version writes, and the newest that it reads.
pub const SCHEMA: &str = "coho-profile/1";

/// The one list of sections: each with its name, its type in this crate, and its description.
macro_rules! sections {
    ($($(#[$told:meta])* $section:ident: $kind:ident,)+) => {
        /// What was measured on a machine: one file.
        ///
        /// ```
        /// let profile = coho_profile::Profile::default();
        /// let text = profile.to_json();
        /// assert_eq!(coho_profile::Profile::from_json(&text)?, profile);
        /// # Ok::<(), coho_profile::Error>(())
        /// ```
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(remote = "Self")]
        #[cfg_attr(feature = "schema", schemars(!remote))]
        pub struct Profile {
            /// `coho-profile/1`.
            pub schema: String,
            $(
                $(#[$told])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $section: Option<crate::$kind>,
            )+
            /// Sections that this version does not know; kept on rewrite.
            #[serde(flatten, skip_deserializing)]
            #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
            pub unknown: BTreeMap<String, Value>,
        }

        impl Default for Profile {
            fn default() -> Self {
                Self { schema: SCHEMA.into(), $($section: None,)+ unknown: BTreeMap::new() }
            }
        }

        /// All sections that this version knows, in the file's order.
        ///
        /// ```
        /// let names: Vec<_> = coho_profile::SECTIONS.iter().map(|section| section.name).collect();
        /// assert!(names.starts_with(&["host", "topology", "coherence"]));
        /// ```
        pub const SECTIONS: &[Listed] = &[$(
            Listed::new::<crate::$kind>(stringify!($section), |profile| {
                profile.$section.as_ref().map(|section| section as &dyn Section)
            }),
        )+];

        $(
            impl Stored for crate::$kind {
                const NAME: &'static str = stringify!($section);

                fn place(profile: &mut Profile) -> &mut Option<Self> {
                    &mut profile.$section
                }
            }
        )+

        impl Profile {
            /// Puts the sections that differ from `before` into a file's, or removes them from it.
            fn put_changed(&self, before: &Self, file: &mut Sections<'_>) -> Result<(), Error> {
                $(
                    if before.$section != self.$section {
                        file.set(stringify!($section), self.$section.as_ref())?;
                    }
                )+
                file.put_rest(before, self)
            }
        }
    };
}

sections! {
    /// The machine and its software.
    host: Host,
    /// What the machine says it is.
    topology: TopologySection,
    /// What sharing a line costs.
    coherence: Coherence,
    /// What reading a counter costs, and which events may be used.
    counters: Counters,
    /// What system, libc and MPI calls cost and evict.
    calls: Calls,
    /// What it costs CPUs to wait for each other.
    sync: Sync,
    /// What it costs many CPUs to work on one line at once.
    contention: Contention,
    /// How fast a CPU moves data, by instruction, memory type and size.
    memory: Memory,
    /// Latency while other CPUs move data.
    loaded: Loaded,
    /// How whole programs run under placements.
    workloads: Workloads,
    /// Idle states, frequency, and how long CPUs take to wake.
    idle: Idle,
    /// Which placement suits which command.
    run: Runs,
    /// What it costs a program that its threads share cache lines.
    share: Share,
    /// The nodes of a job, and what messages between them cost.
    network: Network,
}

keeps_unknown!(Profile);

/// A topology with the counts that scripts use.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopologySection {
    /// How many objects there are of each kind.
    pub counts: Counts,
    /// The objects.
    #[serde(flatten)]
    pub topology: Topology,
    /// The CPUID that it was read from, as far as kernels take a topology from it; empty where it was not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub cpuid: Vec<CpuidAnswer>,
    /// Fields of later versions.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, Value>,
}

impl<'de> Deserialize<'de> for TopologySection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut unknown = Rest::new();
        let topology = Topology::deserialize(Known { deserializer, rest: &mut unknown })?;
        let counts = unknown.remove("counts").ok_or_else(|| D::Error::missing_field("counts"))?;
        let counts = Counts::deserialize(counts).map_err(D::Error::custom)?;
        let cpuid = unknown.remove("cpuid").map(Vec::deserialize).transpose().map_err(D::Error::custom)?;
        Ok(Self { counts, topology, cpuid: cpuid.unwrap_or_default(), unknown })
    }
}

impl Section for TopologySection {
    fn cpus(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        Box::new(self.topology.pus.iter().map(|pu| pu.os))
    }
}

impl From<Topology> for TopologySection {
    fn from(topology: Topology) -> Self {
        Self { counts: topology.counts(), topology, cpuid: Vec::new(), unknown: BTreeMap::new() }
    }
}

impl Profile {
    /// The sections that it has, with their names, in the file's order.
    pub fn sections(&self) -> impl Iterator<Item = (&'static str, &dyn Section)> {
        SECTIONS.iter().filter_map(|listed| Some((listed.name, (listed.of)(self)?)))
    }

    /// All figures, section by section. Of a matrix that was read ([`Coherence::matrix`](crate::Coherence::matrix)) there
    /// are none.
    ///
    /// ```
    /// let paper = coho_profile::published::read("nakamura-fbs")?;
    /// let figures = paper.machines[0].1.figures();
    /// let mut regions = figures.iter().filter(|one| one.quantity.key == "sync.fork-join.total");
    /// assert!(regions.all(|one| one.quantity.unit == "ns" && one.parameter("threads").is_some()));
    /// # Ok::<(), coho_profile::Error>(())
    /// ```
    pub fn figures(&self) -> Vec<Figure<'_>> {
        Figures::of(self)
    }

    /// Reads a profile's text.
    ///
    /// # Errors
    /// If it is not JSON, not a profile, of a newer schema than this version reads, or has an impossible CPU
    /// number.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        check_schema(text)?;
        let profile: Self = serde_json::from_str(text).map_err(Error::from_json)?;
        profile.check_cpus()?;
        Ok(profile)
    }

    /// The profile as JSON text, indented, with a final newline.
    ///
    /// # Panics
    /// Never: maps have text keys.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a profile serialises");
        text.push('\n');
        text
    }

    /// Reads a profile file.
    ///
    /// # Errors
    /// If the file cannot be read, or as for [`Profile::from_json`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = read_text(path)?;
        Self::from_json(&text).map_err(|error| error.in_file(path))
    }

    /// Writes the whole profile file, or nothing.
    ///
    /// # Errors
    /// If the file cannot be written; an earlier file of that name is then unchanged.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        write_atomic_by(path, |out| {
            serde_json::to_writer_pretty(&mut *out, self)?;
            out.write_all(b"\n")
        })
    }

    /// Changes a profile file, or begins one where there is none or it is empty. Sections that `change` leaves
    /// alone are carried over to the letter, with whatever a later version may have put inside them. Updates of
    /// one file wait for each other, so none loses what another has written: measure first, and only put in the
    /// result here.
    ///
    /// # Errors
    /// If the file exists and cannot be read, or the new one cannot be written; the file is then unchanged.
    pub fn update(path: &Path, change: impl FnOnce(&mut Self)) -> Result<Self, Error> {
        let (replacement, text) = begin_update(path)?;
        let before = Self::from_json(&text).map_err(|error| error.in_file(path))?;
        let mut sections = Sections::read(&text).map_err(|error| error.in_file(path))?;
        let mut after = before.clone();
        change(&mut after);
        after.put_changed(&before, &mut sections)?;
        replacement.finish(|out| sections.write(out))?;
        Ok(after)
    }

    /// What an update of this file would start from, so that problems show before anything is measured.
    ///
    /// # Errors
    /// Where [`Profile::update`] would fail: the file is not a profile, or may not be written.
    pub fn check_update(path: &Path) -> Result<Self, Error> {
        let (_, text) = begin_update(path)?;
        Self::from_json(&text).map_err(|error| error.in_file(path))
    }

    /// The JSON Schema of profiles (draft 2020-12), as text. A test compares it with the types.
    ///
    /// ```
    /// let schema: serde_json::Value = serde_json::from_str(coho_profile::Profile::JSON_SCHEMA)?;
    /// assert_eq!(schema["properties"]["host"]["description"], "The machine and its software.");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub const JSON_SCHEMA: &str = include_str!("../schema.json");
}

/// The right to replace a profile, and its current text.
fn begin_update(path: &Path) -> Result<(Replacement, String), Error> {
    if is_stream(path) {
        let why = "it is a device or a pipe, and a profile is a regular file";
        return Err(Error::new(format!("cannot write {}: {why}", path.display())));
    }
    let replacement = Replacement::begin(path)?;
    let text = replacement.earlier()?.map(|file| read_open(file, path)).transpose()?.unwrap_or_default();
    // `mktemp` creates an empty file.
    let text = if text.is_empty() { Profile::default().to_json() } else { text };
    Ok((replacement, text))
}

fn check_schema(text: &str) -> Result<(), Error> {
    #[derive(Default, Deserialize)]
    struct Head {
        #[serde(default)]
        schema: Value,
    }
    let known = SCHEMA.rsplit_once('/').expect("a name and a version");
    let head: Head = match serde_json::from_str(text) {
        Err(error) if error.is_data() => Head::default(),
        head => head.map_err(Error::from_json)?,
    };
    let text = head.schema.as_str().unwrap_or_default();
    match text.rsplit_once('/') {
        Some((name, version)) if name == known.0 => match version.parse::<u32>() {
            Ok(version) if version.to_string() == known.1 => Ok(()),
            Ok(version) if version > 1 => Err(Error::new(format!(
                "the profile has schema '{text}', but this version of coho reads '{SCHEMA}'; use a version \
                 that writes '{text}'"
            ))),
            _ => Err(Error::new(format!("unknown profile schema '{text}', expected '{SCHEMA}'"))),
        },
        _ => Err(Error::new(format!("not a coho profile: \"schema\" is not '{SCHEMA}'"))),
    }
}
