//! Any file or directory that describes a machine, recognised by what is in it.

use std::fs::File;
use std::path::Path;

use crate::cpuid::{self, Dump};
#[cfg(feature = "serde")]
use crate::json::load as load_json;
use crate::{Error, Topology, bounds, freebsd, hwloc, sysfs, xml};

/// Longer than any description: a CPUID dump of 384 CPUs takes 1 MiB.
const MAX_BYTES: u64 = 64 << 20;

/// A described machine, and the raw answers that the description was decoded from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The machine.
    pub topology: Topology,
    /// The CPUID answers, if the source has them.
    pub dump: Option<Dump>,
    /// Sources that should have been there but could not be read, and why.
    pub not_available: Vec<String>,
}

impl From<Topology> for Loaded {
    fn from(topology: Topology) -> Self {
        Self { topology, dump: None, not_available: Vec::new() }
    }
}

/// Reads a CPUID dump of any dialect (a file, or hwloc's directory), a copied sysfs tree (a directory),
/// hwloc XML, FreeBSD's `kern.sched.topology_spec`, the JSON that `coho topology` prints, or a machine profile that
/// holds a topology.
///
/// # Errors
/// If `path` cannot be read, is none of these, or contradicts itself; the error names the file, and the line if there
/// is one.
pub fn load(path: &Path) -> Result<Loaded, Error> {
    let io = |error: std::io::Error| Error::io(path, &error);
    let metadata = std::fs::metadata(path).map_err(io)?;
    let loaded = if metadata.is_dir() {
        load_dir(path)
    } else {
        let file = File::open(path).map_err(io)?;
        load_text(&bounds::read_report(file, path, MAX_BYTES)?)
    };
    loaded.map_err(|error| error.in_file(path))
}

/// As [`load`], but from the text of a file.
///
/// # Errors
/// As for [`load`]; the caller adds the file's name.
pub fn load_text(text: &str) -> Result<Loaded, Error> {
    let text = text.trim_start_matches('\u{feff}');
    let start = text.trim_start();
    if start.starts_with('{') {
        return load_json(text).map(Loaded::from);
    }
    if start.starts_with('<') {
        return load_xml(text).map(Loaded::from);
    }
    if start.starts_with("kern.sched.topology_spec") {
        return freebsd::parse(text).map(|spec| freebsd::to_topology(&spec).into());
    }
    if cpuid::looks_like(text) {
        return decoded(cpuid::parse(text)?);
    }
    Err(Error::new(
        "not recognised: expected a CPUID dump, hwloc XML, FreeBSD's kern.sched.topology_spec, the JSON of \
         'coho topology', or a profile",
    ))
}

/// The root element shows which format it is.
fn load_xml(text: &str) -> Result<Topology, Error> {
    match xml::root(text)?.as_str() {
        "groups" => freebsd::parse(text).map(|spec| freebsd::to_topology(&spec)),
        "topology" => hwloc::parse(text),
        other => Err(Error::new(format!(
            "the XML's root is <{other}>: expected hwloc's <topology> or FreeBSD's <groups>"
        ))),
    }
}

fn load_dir(dir: &Path) -> Result<Loaded, Error> {
    if sysfs::looks_like(dir) {
        return sysfs::read(dir).map(Loaded::from);
    }
    if dir.join("hwloc-cpuid-info").exists() || dir.join("pu0").exists() {
        return decoded(cpuid::parse_dir(dir)?);
    }
    Err(Error::new(
        "not recognised: expected a copied sysfs tree (devices/system/cpu) or hwloc's CPUID directory \
         (hwloc-cpuid-info, pu0, ...)",
    ))
}

fn decoded(dump: Dump) -> Result<Loaded, Error> {
    Ok(Loaded { topology: cpuid::decode(&dump)?, dump: Some(dump), not_available: Vec::new() })
}

#[cfg(not(feature = "serde"))]
fn load_json(_: &str) -> Result<Topology, Error> {
    Err(Error::new("JSON is not read: this build lacks the feature 'serde'"))
}
