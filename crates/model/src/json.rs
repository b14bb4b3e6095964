//! How answers write fields in JSON whose types have no form of their own there.

use std::fmt::Display;

use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

/// A field as the text that it shows.
pub(crate) fn text<T: Display, S: Serializer>(shown: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(shown)
}

/// A list as the texts that its entries show.
pub(crate) fn texts<T: Display, S: Serializer>(shown: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(shown.iter().map(ToString::to_string))
}

/// Two ends as `low` and `high`.
pub(crate) fn ends<T: Serialize, S: Serializer>(
    (low, high): &(T, T),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut ends = serializer.serialize_struct("Ends", 2)?;
    ends.serialize_field("low", low)?;
    ends.serialize_field("high", high)?;
    ends.end()
}

/// The same of ends that may be unknown.
pub(crate) fn known_ends<T: Serialize, S: Serializer>(
    known: &Option<(T, T)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    struct Ends<'a, T>(&'a (T, T));
    impl<T: Serialize> Serialize for Ends<'_, T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            ends(self.0, serializer)
        }
    }
    known.as_ref().map(Ends).serialize(serializer)
}

/// Names and what belongs to each, in their order.
pub(crate) fn by_name<K: Serialize, V: Serialize, S: Serializer>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(pairs.len()))?;
    for (name, value) in pairs {
        map.serialize_entry(name, value)?;
    }
    map.end()
}

/// A result, or the reason why there is none as `not_available`.
pub(crate) fn or_reason<T: Serialize, E: Display, S: Serializer>(
    result: &Result<T, E>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match result {
        Ok(known) => known.serialize(serializer),
        Err(why) => {
            let mut none = serializer.serialize_struct("NotAvailable", 1)?;
            none.serialize_field("not_available", &why.to_string())?;
            none.end()
        }
    }
}
