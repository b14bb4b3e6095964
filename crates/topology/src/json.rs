//! The JSON of a topology, by itself or in a machine profile.

use serde::Deserialize;
use serde_json::Value;

use crate::{Error, Topology, bounds};

/// The schema name of the profiles that can be read here.
const PROFILE_SCHEMA: &str = "coho-profile/1";

/// The section of a profile that matters here.
#[derive(Deserialize)]
struct Profile {
    topology: Option<Topology>,
}

/// Reads the JSON that `coho topology` prints, or the topology of a profile.
///
/// # Errors
/// If the text is neither, the profile is of another version or has no topology, or the topology contradicts
/// itself or is larger than any machine's.
pub(crate) fn load(text: &str) -> Result<Topology, Error> {
    let failed = |error: serde_json::Error| {
        Error::at_line(error.line(), format!("not the JSON of a topology: {error}"))
    };
    let value: Value = serde_json::from_str(text).map_err(failed)?;
    let mut budget = bounds::Budget::default();
    let mut topology = match value.get("schema") {
        None => {
            charge(&value, &mut budget)?;
            serde_json::from_str(text).map_err(failed)?
        }
        Some(schema) if schema == PROFILE_SCHEMA => {
            // The other sections' arrays of numbers are not sets of CPUs.
            value.get("topology").map_or(Ok(()), |section| charge(section, &mut budget))?;
            let profile: Profile = serde_json::from_str(text).map_err(failed)?;
            profile
                .topology
                .ok_or_else(|| Error::new("the profile has no topology: 'coho survey' records one"))?
        }
        Some(other) => {
            return Err(Error::new(format!(
                "its schema is {other}: expected a profile of \"{PROFILE_SCHEMA}\", or the JSON of 'coho topology'"
            )));
        }
    };
    bounds::check(&topology)?;
    topology.finish();
    Ok(topology)
}

/// Accounts for the sets that the arrays of numbers in `value` would make: a short text can ask for large masks.
fn charge(value: &Value, budget: &mut bounds::Budget) -> Result<(), Error> {
    match value {
        Value::Object(fields) => fields.values().try_for_each(|field| charge(field, budget)),
        Value::Array(items) => {
            let largest = items.iter().filter_map(Value::as_u64).max().unwrap_or(0);
            budget.charge_words(largest.min(u64::from(crate::MAX_CPUS)) as usize / 64)?;
            items.iter().filter(|item| !item.is_number()).try_for_each(|item| charge(item, budget))
        }
        _ => Ok(()),
    }
}
