//! The nodes of a job, and what messages between them cost: section `network`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rest::keeps_unknown;
use crate::section::{Column, Figures, Section, given, lower, parameters};
use crate::{Estimate, Method};

/// Which nodes a job surveys, and what MPI's messages between them cost. The profile that holds it stands beside the
/// nodes' own and is written before any of them, so that it tells which are missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Network {
    /// How the messages were measured, and when the survey began.
    pub method: Method,
    /// Version of the program that surveys the nodes.
    pub coho_version: String,
    /// Whether their surveys are quick ones.
    pub quick: bool,
    /// Name and version of the MPI.
    pub library: String,
    /// The nodes, in the order of their first ranks.
    pub nodes: Vec<SurveyedNode>,
    /// Messages between two nodes, a row for each pair and size.
    pub messages: Vec<NodeMessage>,
    /// What the ends of a small message do, a row for each pair.
    pub ends: Vec<MessageEnds>,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Network);

/// A node of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SurveyedNode {
    /// What it calls itself.
    pub host: String,
    /// The name of its profile, in the folder of the profile that holds this.
    pub file: String,
    /// The ranks that it has.
    pub ranks: Vec<u32>,
}

/// Messages of one size between the first ranks of two nodes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NodeMessage {
    /// The nodes, by their places in the list of nodes.
    pub a: u32,
    /// The other one.
    pub b: u32,
    /// Size of each message.
    pub bytes: u64,
    /// How many pairs exchange messages at once, this one among them.
    pub at_once: u32,
    /// Half of the time of a message there and one of the same size back, in ns.
    pub one_way_ns: Option<Estimate>,
}

/// What the ends of a small message are busy with, by the first node's clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MessageEnds {
    /// The node that sends, by its place in the list of nodes.
    pub a: u32,
    /// The other one.
    pub b: u32,
    /// Size of each message.
    pub bytes: u64,
    /// How long MPI_Send takes, in ns: o of the sender.
    pub send_ns: Option<Estimate>,
    /// How long MPI_Recv takes once the message is there, in ns: o of the receiver.
    pub receive_ns: Option<Estimate>,
    /// Time between messages that follow each other as fast as they can, in ns: g.
    pub gap_ns: Option<Estimate>,
}

const MESSAGES: &[Column<NodeMessage>] =
    &[lower("network.message", "one-way time of a message between nodes", "ns", |row: &NodeMessage| {
        given(&row.one_way_ns)
    })];

const ENDS: &[Column<MessageEnds>] = &[
    lower("network.send", "time that the sender of a message is busy", "ns", |row: &MessageEnds| {
        given(&row.send_ns)
    }),
    lower("network.receive", "time that the receiver of a message is busy", "ns", |row| {
        given(&row.receive_ns)
    }),
    lower("network.gap", "time between messages in a row", "ns", |row| given(&row.gap_ns)),
];

impl Section for Network {
    fn method(&self) -> Option<&Method> {
        Some(&self.method)
    }

    fn figures<'a>(&'a self, all: &mut Figures<'a>) {
        let messages = self.messages.iter();
        all.rows(MESSAGES, messages.map(|row| (parameters![row; a, b, bytes, at_once], row)));
        all.rows(ENDS, self.ends.iter().map(|row| (parameters![row; a, b, bytes], row)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn nodes_and_rows_follow_the_schema_and_are_read_as_they_were_written() {
        let ns = |ns| Some(Estimate::exact(ns));
        let network = Network {
            coho_version: "0.1.0".into(),
            nodes: vec![SurveyedNode { host: "n1".into(), file: "n1.json".into(), ranks: vec![0, 1] }],
            messages: vec![NodeMessage { b: 1, bytes: 8, at_once: 1, one_way_ns: ns(2e3), a: 0 }],
            ends: vec![MessageEnds { b: 1, bytes: 8, send_ns: ns(300.0), ..MessageEnds::default() }],
            ..Network::default()
        };
        let profile = Profile { network: Some(network), ..Profile::default() };
        let value = serde_json::to_value(&profile).unwrap();
        jsonschema::validate(&serde_json::from_str(Profile::JSON_SCHEMA).unwrap(), &value).unwrap();
        assert_eq!(Profile::from_json(&profile.to_json()).unwrap(), profile);
        let keys: Vec<_> = profile.figures().iter().map(|figure| figure.quantity.key).collect();
        assert_eq!(keys, ["network.message", "network.send"]);
    }
}
