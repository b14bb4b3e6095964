//! How well counters and time agree: if both are available, each is measured without the other.

use std::fmt;

use coho_profile::{CacheState, CallMethod, Calls, Estimate};

use super::{Options, measure};
use crate::{Error, Progress};

/// By how much damage may differ, relative to the counters' figure.
const DAMAGE: f64 = 0.15;
/// By how much footprints may differ.
const FOOTPRINT: f64 = 0.40;
/// Lines by which small figures may differ in any case.
const LINES: f64 = 6.0;

/// What both methods say about one quantity of a call, in lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// The call and the quantity: `stat: damage to 49152 bytes`.
    pub what: String,
    /// By counter.
    pub counted: f64,
    /// By time.
    pub timed: f64,
    /// The most that they may differ, relative to the counter's figure.
    pub allowed: f64,
}

impl Agreement {
    /// Whether they differ by no more than allowed, or by six lines.
    pub fn holds(&self) -> bool {
        (self.timed - self.counted).abs() <= (self.allowed * self.counted.abs()).max(LINES)
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, counted, timed, allowed } = self;
        let verdict = if self.holds() { "agree" } else { "DIFFER" };
        write!(
            f,
            "{what}: {counted:.0} lines counted, {timed:.0} timed: {verdict} (within {:.0} %)",
            100.0 * allowed
        )
    }
}

/// Measures twice, with counters and without, and compares quantities of the same name: the damage to sets that fit the
/// level-1 data cache (within 15 %) and the footprints (within 40 %).
///
/// # Errors
/// `not available: no performance counters`, with the reason, if there are none; otherwise as [`measure`].
pub fn agreement(options: &Options, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Agreement>, Error> {
    let counted = with_counters(super::pmu::Hardware::possible, || {
        measure(&Options { pmu: true, ..options.clone() }, progress)
    })?;
    let timed = measure(&Options { pmu: false, ..options.clone() }, progress)?;
    Ok(compare(&counted, &timed))
}

/// Measures with counters, if they are `possible` and events have passed their self-tests.
fn with_counters(
    possible: impl FnOnce() -> Result<(), String>,
    measure: impl FnOnce() -> Result<Calls, Error>,
) -> Result<Calls, Error> {
    let none = |why: &str| Error::not_available(format!("not available: no performance counters ({why})"));
    possible().map_err(|why| none(&why))?;
    let counted = measure()?;
    if counted.method != CallMethod::Pmu {
        return Err(none(counted.conditions.not_available.get("pmu").map_or("", String::as_str)));
    }
    Ok(counted)
}

/// The quantities that both sections have.
fn compare(counted: &Calls, timed: &Calls) -> Vec<Agreement> {
    let pair = |what: String, a: Option<&Estimate>, b: Option<&Estimate>, allowed| {
        Some(Agreement { what, counted: a?.median, timed: b?.median, allowed })
    };
    // If a read disturbs the caches, damage is found by time in both runs.
    let disturbs = counted.conditions.parameters.get("reading_disturbs").is_some_and(|value| value == true);
    let l1d = counted.conditions.parameters.get("l1d_bytes").and_then(serde_json::Value::as_u64);
    let comparable =
        |damage: &&coho_profile::Damage| !disturbs && l1d.is_some_and(|l1d| damage.set_bytes <= l1d);
    let damages = counted.damage.iter().filter(comparable).filter_map(|damage| {
        let same =
            |other: &&coho_profile::Damage| other.name == damage.name && other.set_bytes == damage.set_bytes;
        let other = timed.damage.iter().find(same)?;
        let what = format!("{}: damage to {} bytes", damage.name, damage.set_bytes);
        pair(what, damage.lines.as_ref(), other.lines.as_ref(), DAMAGE)
    });
    let footprints = counted.calls.iter().filter(|row| row.state == CacheState::Warm).filter_map(|row| {
        let same = |other: &&coho_profile::Call| {
            (&other.name, other.state, other.side, other.wrapped)
                == (&row.name, row.state, row.side, row.wrapped)
        };
        let other = timed.calls.iter().find(same)?;
        let form = if row.wrapped { " through the C library" } else { "" };
        let what = format!("{}{form}: footprint", row.name);
        pair(what, row.footprint_lines.as_ref(), other.footprint_lines.as_ref(), FOOTPRINT)
    });
    damages.chain(footprints).collect()
}

#[cfg(test)]
mod tests {
    use coho_profile::{Call, Damage};

    use super::*;

    fn section(damage: f64, footprint: f64) -> Calls {
        let parameters = [("l1d_bytes".to_owned(), (32u64 << 10).into())].into();
        Calls {
            conditions: coho_profile::Method { parameters, ..Default::default() },
            calls: vec![Call {
                name: "stat".into(),
                footprint_lines: Some(Estimate::exact(footprint)),
                ..Call::default()
            }],
            damage: vec![Damage {
                name: "stat".into(),
                set_bytes: 32 << 10,
                lines: Some(Estimate::exact(damage)),
                ns: None,
            }],
            ..Calls::default()
        }
    }

    #[test]
    fn figures_within_what_is_allowed_agree_and_others_do_not() {
        // Made-up sections: this tests the tolerances, not how far the two methods agree on some machine.
        let good = compare(&section(255.0, 68.0), &section(243.0, 80.0));
        assert_eq!(good.len(), 2);
        assert!(good.iter().all(Agreement::holds), "{good:?}");
        let bad = compare(&section(255.0, 68.0), &section(190.0, 110.0));
        assert!(!bad.iter().any(Agreement::holds), "{bad:?}");
        assert!(bad[0].to_string().contains("DIFFER"));
        // Small quantities may differ by some lines.
        assert!(compare(&section(3.0, 7.0), &section(8.0, 11.0)).iter().all(Agreement::holds));
        let mut trapped = section(255.0, 68.0);
        trapped.conditions.parameters.insert("reading_disturbs".into(), true.into());
        assert_eq!(compare(&trapped, &section(243.0, 80.0)).len(), 1);
    }

    #[test]
    fn without_counters_there_is_nothing_to_agree() {
        let refused = || Err("this CPU has none".to_owned());
        let error = with_counters(refused, || unreachable!("nothing is measured")).unwrap_err().to_string();
        assert_eq!(error, "not available: no performance counters (this CPU has none)");
        let nothing_passed = || {
            let mut timed = section(1.0, 1.0);
            timed.conditions.not_available.insert("pmu".into(), "no event passed its self-test".into());
            Ok(timed)
        };
        let error = with_counters(|| Ok(()), nothing_passed).unwrap_err().to_string();
        assert_eq!(error, "not available: no performance counters (no event passed its self-test)");
        let counted = || Ok(Calls { method: CallMethod::Pmu, ..section(1.0, 1.0) });
        assert_eq!(with_counters(|| Ok(()), counted).unwrap().method, CallMethod::Pmu);
    }
}
