//! Reading a type whose object may hold more fields than the type has, and keeping these.
//!
//! serde's `flatten` could do it, but compiles everything that such a type holds a second time. Here the type's own
//! deserialiser, derived as an inherent function by `remote = "Self"`, reads the fields that it knows; the others are
//! put aside on their way there.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, MapAccess, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use serde_json::Value;

/// Fields that a type does not have.
pub(crate) type Rest = BTreeMap<String, Value>;

/// A type that keeps the rest of its object.
pub(crate) trait KeepRest: Sized {
    /// With the fields that are none of its own.
    fn with_rest(self, rest: Rest) -> Result<Self, serde_json::Error>;
}

/// Makes types keep the rest of their objects by [`KeepRest`] when they are read. They derive `Serialize` and
/// `Deserialize` with `remote = "Self"`.
macro_rules! keeps_rest {
    ($($kind:ident),+) => {$(
        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                // The derived function, which comes before the trait's.
                $kind::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut rest = $crate::rest::Rest::new();
                let read = $kind::deserialize($crate::rest::Known { deserializer, rest: &mut rest })?;
                $crate::rest::KeepRest::with_rest(read, rest).map_err(serde::de::Error::custom)
            }
        }
    )+};
}

/// The same of types that keep it in their field `unknown`.
macro_rules! keeps_unknown {
    ($($kind:ident),+) => {$(
        impl $crate::rest::KeepRest for $kind {
            fn with_rest(self, unknown: $crate::rest::Rest) -> Result<Self, serde_json::Error> {
                Ok(Self { unknown, ..self })
            }
        }

        $crate::rest::keeps_rest!($kind);
    )+};
}

pub(crate) use {keeps_rest, keeps_unknown};

/// A deserialiser of a structure, which sees only the fields that it has.
pub(crate) struct Known<'a, D> {
    pub deserializer: D,
    /// Where the other fields go.
    pub rest: &'a mut Rest,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Known<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_map(Fields { of: visitor, fields, rest: self.rest })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Hands on the fields that are known, and puts the others aside.
struct Fields<'a, T> {
    of: T,
    fields: &'static [&'static str],
    rest: &'a mut Rest,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Fields<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.of.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.of.visit_map(Fields { of: map, fields: self.fields, rest: self.rest })
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(name) = self.of.next_key::<String>()? {
            if self.fields.contains(&&*name) {
                return seed.deserialize(StrDeserializer::new(&name)).map(Some);
            }
            let value = self.of.next_value()?;
            self.rest.insert(name, value);
        }
        Ok(None)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        self.of.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Call, Profile, Runs};

    #[test]
    fn nested_types_keep_what_they_do_not_know() {
        let text =
            r#"{"commands": {"make": {"later": 1}}, "live": {"nginx": {"moon": []}}, "x": {"y": null}}"#;
        let read: Runs = serde_json::from_str(text).unwrap();
        assert_eq!(
            (&read.commands["make"].unknown["later"], read.live["nginx"].unknown.len()),
            (&1.into(), 1)
        );
        let written = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<Runs>(&written).unwrap(), read);
    }

    #[test]
    fn events_stand_among_a_calls_own_fields() {
        let text = r#"{"L2M": {"median": 3.5, "low": 3, "high": 4, "min": 3, "n": 9}, "name": "getpid", "later": 1}"#;
        let read: Call = serde_json::from_str(text).unwrap();
        assert_eq!((&*read.name, read.counts.L2M.as_ref().map(|lines| lines.median)), ("getpid", Some(3.5)));
        assert_eq!(read.counts.L1DR, None);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let error = |text: &str| Profile::from_json(text).unwrap_err().to_string();
        let wrong = error("{\"schema\": \"coho-profile/1\",\n\n\"host\": {\"cpu\": 3}}");
        assert!(wrong.contains("line 3"), "{wrong}");
        assert!(error(r#"{"schema": "coho-profile/1", "topology": {}}"#).contains("missing field `counts`"));
        assert!(error(r#"{"schema": "coho-profile/1", "idle": []}"#).contains("expected struct Idle"));
    }
}
