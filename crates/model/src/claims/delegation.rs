//! Shimosawa, Hori & Ishikawa: which calls another core should execute, and on which one.

use coho_profile::{Calls, Footprint, HostLast};
use serde_json::Value;

use super::Figure;
use super::evidence::{Context, Evidence, Lack, Part};
use crate::delegation;

/// The calls that the paper would have made at home, and those that touch about 20 KiB.
const LIGHT: [&str; 2] = ["getpid", "gettimeofday"];
const HEAVY: [&str; 3] = ["stat", "open", "write"];

/// What this paper's claims rest on, by name.
pub(super) const FIGURES: &[Figure] = &[
    ("delegation-light", |context, _| light(context)),
    ("delegation-heavy", |context, _| heavy(context)),
    ("delegation-affine", |context, _| affine(context)),
    ("delegation-together", |context, _| together(context)),
    ("delegation-payload", |context, _| payload(context)),
];

fn section<'a>(context: &Context<'a>) -> Result<&'a Calls, Lack> {
    let calls = context.profile.calls.as_ref().ok_or("the profile has no section calls")?;
    match calls.footprint_conditions.as_ref() {
        None => Err("what calls cost by their caller's footprint was not measured".into()),
        Some(conditions) => {
            match conditions.not_available.get("away").or(conditions.not_available.get("footprint")) {
                Some(why) => Err(Lack::Unmeasurable(why.trim_start_matches("not available: ").to_owned())),
                None => Ok(calls),
            }
        }
    }
}

fn how(context: &Context<'_>, calls: &Calls) -> String {
    let mode = delegation::condition(calls, context.profile.coherence.as_ref());
    let mode = mode.map_or_else(String::new, |mode| format!("; {mode}"));
    let conditions = calls.footprint_conditions.as_ref();
    conditions.map_or_else(String::new, |conditions| context.how(conditions)) + &mode
}

/// The rows of a call by one caller that has walked data alone, on the first file system that has it.
fn rows<'a>(calls: &'a Calls, name: &'a str, payload_bytes: u64) -> Vec<&'a Footprint> {
    let own = |row: &&Footprint| row.call == name && row.payload_bytes == payload_bytes && row.is_of_curve();
    let first = calls.footprint.iter().find(own).map(|row| &row.filesystem);
    calls.footprint.iter().filter(own).filter(|row| Some(&row.filesystem) == first).collect()
}

/// The payload of a call in the paper: one byte of what moves any.
fn payload_of(name: &str) -> u64 {
    u64::from(name == "write")
}

fn light(context: &Context<'_>) -> Result<Evidence, Lack> {
    let calls = section(context)?;
    let mut parts = Vec::new();
    for name in LIGHT {
        let mut own = rows(calls, name, 0);
        own.dedup_by_key(|row| row.bytes);
        if own.is_empty() {
            parts.push(Err(Lack::from(format!("{name} was not measured by footprint"))));
        }
        for row in own {
            let what = format!("{name} at {} KiB", row.bytes >> 10);
            parts
                .push(context.range(&what, row.gain_ns.as_ref()).map(|range| Part::new(what.clone(), range)));
        }
    }
    Ok(Evidence::of(parts, how(context, calls)))
}

fn heavy(context: &Context<'_>) -> Result<Evidence, Lack> {
    let calls = section(context)?;
    let parameters = calls.footprint_conditions.as_ref().map(|conditions| &conditions.parameters);
    let l2 = parameters.and_then(|all| all.get("l2_bytes")).and_then(Value::as_u64);
    let l2 = l2.ok_or("the size of the level-2 cache is unknown")?;
    let part = |name: &&str| {
        let own = rows(calls, name, payload_of(name));
        let row = own.iter().min_by_key(|row| row.bytes.abs_diff(2 * l2));
        let row = row.filter(|row| row.bytes >= 2 * l2 && row.bytes <= 8 * l2);
        let gain = row.and_then(|row| row.gain_ns.as_ref());
        Ok(Part::new(*name, context.range(&format!("the gain of {name}"), gain)?))
    };
    Ok(Evidence::of(HEAVY.iter().map(part), how(context, calls)))
}

fn affine(context: &Context<'_>) -> Result<Evidence, Lack> {
    let calls = section(context)?;
    let part = |name: &&str| {
        let mut own = calls.affinity.iter().filter(|row| {
            row.call == *name && row.payload_bytes == payload_of(name) && row.host_last == HostLast::Other
        });
        let ratio = own.next().and_then(|row| row.over_warm.as_ref());
        Ok(Part::new(*name, context.range(&format!("{name} after other functions"), ratio)?))
    };
    Ok(Evidence::of(HEAVY.iter().map(part), how(context, calls)))
}

fn together(context: &Context<'_>) -> Result<Evidence, Lack> {
    let calls = section(context)?;
    let channel = calls.channel.first().ok_or("the channel was not measured")?;
    let of = |requests: u32| {
        let batch = channel.batches.iter().find(|batch| batch.requests == requests);
        context.range(&format!("{requests} requests at once"), batch.and_then(|batch| batch.ns.as_ref()))
    };
    let ratio = of(32)?.over(of(1)?).ok_or("the time of one request may be 0")?;
    Ok(Evidence::one(ratio, how(context, calls)))
}

fn payload(context: &Context<'_>) -> Result<Evidence, Lack> {
    let calls = section(context)?;
    let (small, large) = (rows(calls, "write", 1), rows(calls, "write", 64 << 10));
    let mut large: Vec<&Footprint> = large;
    large.dedup_by_key(|row| row.bytes);
    let part = |row: &&Footprint| {
        let other = small.iter().find(|other| other.bytes == row.bytes);
        let kib = row.bytes >> 10;
        let gain = |what: &str, row: Option<&Footprint>| {
            context
                .range(&format!("the gain of {what} at {kib} KiB"), row.and_then(|row| row.gain_ns.as_ref()))
        };
        let difference = gain("64 KiB", Some(row))?.less(gain("1 byte", other.copied())?);
        Ok(Part::new(format!("at {kib} KiB"), difference))
    };
    if large.is_empty() {
        return Err("writes of 64 KiB were not measured by footprint".into());
    }
    Ok(Evidence::of(large.iter().map(part), how(context, calls)))
}
