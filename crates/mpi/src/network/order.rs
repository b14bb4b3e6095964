//! What rank 0 has two others do.

/// What to exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing more.
    End,
    /// Each message is answered by one of its size.
    PingPong,
    /// What the ends do, one part after the other.
    Ends,
}

/// An order, as it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) kind: Kind,
    /// The other rank.
    pub(super) peer: u64,
    /// Whether this one begins, and takes the time.
    pub(super) is_first: bool,
    /// Size of each message.
    pub(super) bytes: u64,
    /// Messages in a burst.
    pub(super) repeats: u64,
    pub(super) bursts: u64,
}

const WORDS: usize = 6;

impl Order {
    pub(super) const END: Self =
        Self { kind: Kind::End, peer: 0, is_first: false, bytes: 0, repeats: 0, bursts: 0 };
    pub(super) const BYTES: usize = 8 * WORDS;

    /// How many times the one that begins has for rank 0.
    pub(super) fn results(self) -> usize {
        let each = match self.kind {
            Kind::End => 0,
            Kind::PingPong => 1,
            Kind::Ends => 3,
        };
        each * self.bursts as usize
    }

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let kind = match self.kind {
            Kind::End => 0,
            Kind::PingPong => 1,
            Kind::Ends => 2,
        };
        let words = [kind, self.peer, self.is_first.into(), self.bytes, self.repeats, self.bursts];
        words.map(u64::to_le_bytes).concat().try_into().expect("as many words")
    }

    pub(super) fn of_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * at + byte]));
        let kind = match word(0) {
            1 => Kind::PingPong,
            2 => Kind::Ends,
            _ => Kind::End,
        };
        Self {
            kind,
            peer: word(1),
            is_first: word(2) != 0,
            bytes: word(3),
            repeats: word(4),
            bursts: word(5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_arrives_as_it_was_given() {
        for kind in [Kind::End, Kind::PingPong, Kind::Ends] {
            for is_first in [false, true] {
                let order = Order { kind, peer: 70_000, is_first, bytes: 4 << 20, repeats: 3, bursts: 5 };
                assert_eq!(Order::of_bytes(order.to_bytes()), order);
            }
        }
    }
}
