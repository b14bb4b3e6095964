//! What a job's messages show of its network: which nodes are near each other, and the parameters of LogGP (Alexandrov,
//! Ionescu, Schauser & Scheiman, 1995).

use std::collections::BTreeSet;

use coho_profile::{MessageEnds, Network, NodeMessage};

use crate::{Classification, Matrix, classify};

/// What the messages between nodes show.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Size of the messages by which nodes are told apart, in bytes.
    pub bytes: u64,
    /// Classes of pairs, and groups of nodes, by their places in the list of nodes; `None` of fewer than three nodes.
    pub classification: Option<Classification>,
    /// LogGP's parameters of those pairs of which enough was measured.
    pub loggp: Vec<NodeLogGp>,
}

/// LogGP's parameters of a pair of nodes, as far as their messages tell.
#[derive(Debug, Clone, PartialEq)]
#[allow(non_snake_case)]
pub struct NodeLogGp {
    /// The node that sends.
    pub a: u32,
    /// The other one.
    pub b: u32,
    /// o of the sender, in ns.
    pub o_send_ns: Option<f64>,
    /// o of the receiver, in ns.
    pub o_receive_ns: Option<f64>,
    /// L: the rest of a small message's one-way time, in ns. `None` without the others, and where its ends overlap: both
    /// together are busy for longer than the message takes.
    pub L_ns: Option<f64>,
    /// g: the gap between small messages, in ns. `None` if it is lost in the scatter.
    pub g_ns: Option<f64>,
    /// G: what each further byte of a large message adds, in ns. `None` unless the times of two large sizes are clearly
    /// apart.
    pub G_ns_per_byte: Option<f64>,
}

/// A large message is at least this long, in bytes.
const LARGE: u64 = 256 << 10;

/// Judges a section; `None` without messages of pairs alone.
pub fn judge(network: &Network) -> Option<Judgement> {
    let alone = || network.messages.iter().filter(|row| row.at_once <= 1 && row.one_way_ns.is_some());
    // The size that most pairs have; of several, the smallest.
    let sizes: BTreeSet<u64> = alone().map(|row| row.bytes).collect();
    let pairs = |bytes: u64| alone().filter(|row| row.bytes == bytes).count();
    let bytes = sizes.into_iter().rev().max_by_key(|bytes| pairs(*bytes))?;
    let small: Vec<&NodeMessage> = alone().filter(|row| row.bytes == bytes).collect();
    let loggp = network.ends.iter().map(|ends| loggp(ends, network));
    Some(Judgement {
        bytes,
        classification: matrix(&small).map(|matrix| classify(&matrix)),
        loggp: loggp.collect(),
    })
}

fn matrix(rows: &[&NodeMessage]) -> Option<Matrix> {
    let nodes: BTreeSet<u32> = rows.iter().flat_map(|row| [row.a, row.b]).collect();
    if nodes.len() < 3 || nodes.len() > crate::MAX_CPUS {
        return None;
    }
    let nodes: Vec<u32> = nodes.into_iter().collect();
    let n = nodes.len();
    let mut ns = vec![f64::NAN; n * n];
    for row in rows {
        let [a, b] = [row.a, row.b].map(|node| nodes.partition_point(|known| *known < node));
        let time = row.one_way_ns.as_ref()?.median;
        ns[a * n + b] = time;
        ns[b * n + a] = time;
    }
    Matrix::new(nodes, ns).ok()
}

fn loggp(ends: &MessageEnds, network: &Network) -> NodeLogGp {
    let pair = [ends.a.min(ends.b), ends.a.max(ends.b)];
    let of_pair = || {
        let rows = network.messages.iter().filter(|row| row.at_once <= 1);
        let rows = rows.filter(|row| [row.a.min(row.b), row.a.max(row.b)] == pair);
        rows.filter_map(|row| Some((row.bytes, row.one_way_ns.as_ref()?)))
    };
    let one_way = of_pair().find(|(bytes, _)| *bytes == ends.bytes).map(|(_, time)| time.median);
    let positive = |ns: f64| (ns > 0.0).then_some(ns);
    let [send, receive] = [&ends.send_ns, &ends.receive_ns].map(|time| positive(time.as_ref()?.median));
    let rest = || positive(one_way? - send? - receive?);
    let gap = ends.gap_ns.as_ref().filter(|gap| gap.low > 0.0).map(|gap| gap.median);
    let slope = || {
        let largest = of_pair().filter(|(bytes, _)| *bytes >= LARGE).max_by_key(|(bytes, _)| *bytes)?;
        let less = of_pair().filter(|(bytes, _)| *bytes >= LARGE && *bytes < largest.0);
        let less = less.max_by_key(|(bytes, _)| *bytes)?;
        let is_apart = largest.1.low > less.1.high;
        is_apart.then(|| (largest.1.median - less.1.median) / (largest.0 - less.0) as f64)
    };
    NodeLogGp {
        a: ends.a,
        b: ends.b,
        o_send_ns: send,
        o_receive_ns: receive,
        L_ns: rest(),
        g_ns: gap,
        G_ns_per_byte: slope(),
    }
}

#[cfg(test)]
mod tests {
    use coho_profile::Estimate;

    use super::*;

    fn row(a: u32, b: u32, bytes: u64, ns: f64) -> NodeMessage {
        NodeMessage { a, b, bytes, at_once: 1, one_way_ns: Some(Estimate::exact(ns)) }
    }

    #[test]
    fn nodes_behind_one_switch_are_a_group() {
        let mut network = Network::default();
        for b in 0..6u32 {
            for a in 0..b {
                let ns = if a / 3 == b / 3 { 2000.0 } else { 5000.0 };
                network.messages.push(row(a, b, 8, ns + f64::from(a + b)));
            }
        }
        network.messages.push(NodeMessage { at_once: 3, ..row(0, 3, 8, 9e9) });
        network.messages.push(row(0, 1, 1, 1.0));
        let judged = judge(&network).unwrap();
        let found = judged.classification.unwrap();
        assert_eq!((judged.bytes, &found.levels[0].groups), (8, &vec![vec![0, 1, 2], vec![3, 4, 5]]));
        assert_eq!(found.classes.len(), 2);
        assert_eq!(judge(&Network::default()), None);
    }

    #[test]
    fn parameters_follow_from_times_and_what_they_do_not_tell_is_left_out() {
        let ns = |ns| Some(Estimate::exact(ns));
        let ends = MessageEnds {
            a: 1,
            b: 0,
            bytes: 8,
            send_ns: ns(300.0),
            receive_ns: ns(200.0),
            gap_ns: ns(150.0),
        };
        let messages =
            vec![row(0, 1, 8, 2000.0), row(0, 1, 1 << 20, 102_000.0), row(0, 1, 2 << 20, 206_857.6)];
        let network = Network { messages, ends: vec![ends.clone()], ..Network::default() };
        let found = &judge(&network).unwrap().loggp[0];
        assert_eq!((found.o_send_ns, found.L_ns, found.g_ns), (Some(300.0), Some(1500.0), Some(150.0)));
        assert!((found.G_ns_per_byte.unwrap() - 0.1).abs() < 1e-9);

        let gap_ns = Some(Estimate { low: -3.0, ..Estimate::exact(5.0) });
        let busy = MessageEnds { send_ns: ns(1900.0), gap_ns, ..ends };
        let messages = vec![row(0, 1, 8, 2000.0), row(0, 1, 1 << 20, 2000.0), row(0, 1, 2 << 20, 2000.0)];
        let network = Network { messages, ends: vec![busy], ..Network::default() };
        let found = &judge(&network).unwrap().loggp[0];
        assert_eq!((found.L_ns, found.g_ns, found.G_ns_per_byte), (None, None, None));
    }
}
