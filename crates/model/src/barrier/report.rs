//! A forecast in JSON.

use coho_profile::Ns;
use serde::{Serialize, Serializer};

use super::{Check, Fit, Forecast, Gap, LeftOut, Limits, Machine, Prediction, Quickest, Source};
use crate::{Error, json};

#[derive(Serialize)]
struct Report<'a> {
    limit_ns: Option<Limit>,
    limits_ns: &'a [Limits],
    algorithms: &'a [Prediction],
    fork_join: &'a [Prediction],
    quickest: &'a [Quickest],
    method: Method<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<&'a [Check]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fit: Option<&'a Fit>,
}

/// The bounds by the first mapping.
#[derive(Serialize)]
struct Limit {
    barrier: Ns,
    fork_join: Ns,
}

#[derive(Serialize)]
struct Method<'a> {
    #[serde(serialize_with = "json::text")]
    latency: &'a Source,
    extra_line_ns: Ns,
    extra_line_of_latency: f64,
    #[serde(serialize_with = "json::text")]
    extra_line: &'a Source,
    extra_line_range: [Gap; 2],
    local_ns: Ns,
    #[serde(serialize_with = "json::text")]
    local: &'a Source,
    notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    not_predicted: Option<&'a [LeftOut]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_available: Option<Unmeasured<'a>>,
}

/// Why measured times do not stand beside the predicted ones.
#[derive(Serialize)]
struct Unmeasured<'a> {
    #[serde(serialize_with = "json::text")]
    measured: &'a Error,
}

impl<'a> Method<'a> {
    fn of(machine: &'a Machine) -> Self {
        Self {
            latency: &machine.latency_source,
            extra_line_ns: machine.extra_line.fixed,
            extra_line_of_latency: machine.extra_line.of_latency,
            extra_line: &machine.extra_line.source,
            extra_line_range: machine.extra_line.range,
            local_ns: machine.local.time,
            local: &machine.local.source,
            notes: &machine.notes,
            not_predicted: None,
            not_available: None,
        }
    }
}

impl Serialize for Forecast {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let compared = self.compared.as_ref();
        Report {
            limit_ns: self
                .limits
                .first()
                .map(|&Limits { barrier, fork_join, .. }| Limit { barrier, fork_join }),
            limits_ns: &self.limits,
            algorithms: &self.barriers,
            fork_join: &self.fork_joins,
            quickest: &self.quickest,
            method: Method {
                not_predicted: compared.ok().map(|comparison| &comparison.left_out[..]),
                not_available: compared.err().map(|why| Unmeasured { measured: why }),
                ..Method::of(&self.machine)
            },
            measured: compared.ok().map(|comparison| &comparison.checks[..]),
            fit: self.fit.as_ref(),
        }
        .serialize(serializer)
    }
}
