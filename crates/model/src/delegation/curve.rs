//! What the curve of a call should be, from figures that were measured apart from it: the call cold and in a loop, the
//! damage to working sets, how long loads take from each cache, and the channel.

use std::collections::HashSet;

use coho_profile::{CacheState, Call, Calls, Channel, Estimate, Footprint, Ns, Side};
use serde_json::Value;

use super::CurvePoint;

/// What a run of the curves knows of the caches.
struct Caches {
    /// What each holds, in bytes, and a load from it, from the inside outwards; without memory.
    levels: Vec<(f64, Ns)>,
    memory: Ns,
}

/// The model's points for the curves of one caller without instructions, each call and footprint once. What lacks a figure
/// has none.
///
/// At home a call takes what it takes in a loop, and so much of the difference to a cold one as its lines have been pushed
/// outwards: after a walk over F bytes, a cache of C bytes holds the share 1 − F/C of what it held, and what it does not
/// hold comes from the next. The damage to the nearest sets that were measured comes on top. Away it takes the
/// channel's way there and back, with the payload, and the call in a loop.
pub(super) fn predict(calls: &Calls) -> Vec<CurvePoint> {
    let Some(caches) = Caches::of(calls) else { return Vec::new() };
    let channel = calls.channel.first();
    let mut points: Vec<CurvePoint> = Vec::new();
    let mut known = HashSet::new();
    for row in calls.footprint.iter().filter(|row| row.is_of_curve()) {
        if !known.insert((row.call_key(), row.bytes)) {
            continue;
        }
        let point = CurvePoint {
            call: row.call.clone(),
            payload_bytes: row.payload_bytes,
            filesystem: row.filesystem.clone(),
            bytes: row.bytes,
            ..CurvePoint::default()
        };
        let Some(name) = name_in(calls, row) else { continue };
        let warm = time(calls, &name, CacheState::Warm);
        let home = warm.zip(time(calls, &name, CacheState::Cold)).map(|(warm, cold)| {
            warm + (cold - warm).max(Ns::ZERO) * caches.pushed_out(row.bytes as f64)
                + damage(calls, &name, row.bytes)
        });
        let away = warm.zip(channel.and_then(|channel| there_and_back(channel, row.payload_bytes)));
        points.push(CurvePoint { home_ns: home, away_ns: away.map(|(warm, way)| warm + way), ..point });
    }
    points
}

/// How far predicted figures are from measured ones: the median of the relative distances; `None` without a pair.
pub(super) fn error(pairs: impl Iterator<Item = (Ns, Ns)>) -> Option<f64> {
    let far = |(predicted, measured): (Ns, Ns)| {
        let far = (predicted - measured).abs() / measured.abs();
        far.is_finite().then_some(far)
    };
    let mut errors: Vec<f64> = pairs.filter_map(far).collect();
    (!errors.is_empty()).then(|| crate::stats::median(&mut errors))
}

/// The name under which the section has the same call, on the same file system.
fn name_in(calls: &Calls, row: &Footprint) -> Option<String> {
    let lies_on = calls.conditions.parameters.get("filesystem").and_then(Value::as_str);
    if row.filesystem.is_some() && row.filesystem.as_deref() != lies_on {
        return None;
    }
    let with_size = format!("{}({})", row.call, row.payload_bytes);
    let names = if row.payload_bytes > 1 { vec![with_size] } else { vec![row.call.clone(), with_size] };
    names.into_iter().find(|name| calls.calls.iter().any(|call| call.name == *name))
}

/// The time of a call as the instruction, which the curves make, or through the C library where it has no other form.
fn time(calls: &Calls, name: &str, state: CacheState) -> Option<Ns> {
    let rows =
        calls.calls.iter().filter(|call| call.name == name && call.state == state && call.side == Side::Both);
    let ns = |call: &Call| call.ns.as_ref().map(|ns| (call.wrapped, Ns(ns.median)));
    rows.filter_map(ns).min_by_key(|(wrapped, _)| *wrapped).map(|(_, ns)| ns)
}

/// The damage to a set of `bytes` bytes: between two that were measured on the straight line over the logarithm of their
/// size, beyond them that of the nearest.
fn damage(calls: &Calls, name: &str, bytes: u64) -> Ns {
    let own = calls.damage.iter().filter(|damage| damage.name == name);
    let mut sets: Vec<(u64, Ns)> = own
        .filter_map(|damage| Some((damage.set_bytes, Ns(damage.ns.as_ref()?.median).max(Ns::ZERO))))
        .collect();
    sets.sort_by_key(|(bytes, _)| *bytes);
    let (Some(first), Some(last)) = (sets.first(), sets.last()) else { return Ns::ZERO };
    if bytes <= first.0 {
        return first.1;
    }
    let between = sets.windows(2).find(|two| two[1].0 >= bytes);
    between.map_or(last.1, |two| along(two[0], two[1], bytes))
}

/// There and back around a call, with a payload that the host reads where it lies: what such a payload takes longer than
/// none comes on top.
fn there_and_back(channel: &Channel, bytes: u64) -> Option<Ns> {
    let median = |ns: &Option<Estimate>| ns.as_ref().map(|ns| Ns(ns.median));
    let (empty, busy) = (median(&channel.round_trip_ns)?, median(&channel.busy_round_trip_ns)?);
    if bytes == 0 {
        return Some(busy);
    }
    let mut sizes: Vec<(u64, Ns)> =
        channel.payloads.iter().filter_map(|one| Some((one.bytes, median(&one.in_place_ns)?))).collect();
    sizes.sort_by_key(|(bytes, _)| *bytes);
    let last = sizes.last()?;
    let with_payload = match bytes {
        _ if bytes <= sizes[0].0 => sizes[0].1,
        // So many lines take so much longer.
        _ if bytes > last.0 => last.1 * bytes as f64 / last.0 as f64,
        _ => {
            let two = sizes.windows(2).find(|two| two[1].0 >= bytes)?;
            along(two[0], two[1], bytes)
        }
    };
    Some(busy + with_payload - empty)
}

/// The straight line over the logarithm of the size.
fn along((x0, y0): (u64, Ns), (x1, y1): (u64, Ns), x: u64) -> Ns {
    let log = |x: u64| (x.max(1) as f64).ln();
    y0 + (y1 - y0) * (log(x) - log(x0)) / (log(x1) - log(x0))
}

impl Caches {
    fn of(calls: &Calls) -> Option<Self> {
        let parameters = &calls.footprint_conditions.as_ref()?.parameters;
        let holds = |name: &str| parameters.get(name).and_then(Value::as_f64);
        let load = |name: &str| parameters.get("load_ns")?.get(name)?.as_f64().map(Ns);
        let names = [("l1d", "l1d_bytes"), ("l2", "l2_bytes"), ("last", "last_level_cache_bytes")];
        let levels: Vec<_> =
            names.iter().filter_map(|(name, bytes)| Some((holds(bytes)?, load(name)?))).collect();
        (!levels.is_empty()).then_some(Self { levels, memory: load("memory")? })
    }

    /// How far outwards a walk over `bytes` has pushed what was in the innermost cache: 0 where it still is there, 1 in
    /// memory, between them by the time of a load.
    fn pushed_out(&self, bytes: f64) -> f64 {
        let (mut inside, mut load) = (0.0, Ns::ZERO);
        for &(holds, from_here) in &self.levels {
            let held = (1.0 - bytes / holds).clamp(inside, 1.0);
            load += (held - inside) * from_here;
            inside = held;
        }
        load += (1.0 - inside) * self.memory;
        let first = self.levels[0].1;
        ((load - first) / (self.memory - first)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_move_outwards_as_the_walk_grows() {
        let levels = vec![(32e3, Ns(2.0)), (512e3, Ns(6.0)), (32e6, Ns(20.0))];
        let caches = Caches { levels, memory: Ns(100.0) };
        assert_eq!(caches.pushed_out(0.0), 0.0);
        let half = caches.pushed_out(16e3);
        assert!(half > 0.0 && half < 0.05, "{half}");
        // What left the second cache comes from the third.
        let third = caches.pushed_out(512e3);
        assert!((third - 18.0 / 98.0).abs() < 0.02, "{third}");
        assert_eq!(caches.pushed_out(64e6), 1.0);
        let all: Vec<f64> = (0..40).map(|i| caches.pushed_out(1e3 * 1.4f64.powi(i))).collect();
        assert!(all.is_sorted());
    }

    #[test]
    fn errors_are_relative_and_their_median_counts() {
        let pairs = [(110.0, 100.0), (90.0, 100.0), (300.0, 100.0), (1.0, 0.0)];
        let pairs = pairs.map(|(predicted, measured)| (Ns(predicted), Ns(measured)));
        assert!((error(pairs.into_iter()).unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(error(std::iter::empty()), None);
    }
}
