//! Sets of operating-system CPU numbers.

use std::fmt;
use std::str::FromStr;

/// One more than the largest CPU number that any source may name; hostile input beyond it is an error.
pub const MAX_CPUS: u32 = 1 << 16;

/// Why a text or a mask is not a valid set of CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidCpus {
    /// A part of a list is not a number.
    NotANumber {
        /// The part.
        part: String,
        /// The list.
        list: String,
    },
    /// A range's end comes before its start.
    Backwards {
        /// The range.
        range: String,
    },
    /// A CPU number at or beyond [`MAX_CPUS`].
    TooLarge {
        /// The number.
        cpu: u32,
    },
    /// A mask has a bit at or beyond [`MAX_CPUS`].
    MaskTooLong,
}

/// Quotes the input without its control characters, which a terminal would obey.
impl fmt::Display for InvalidCpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let largest = MAX_CPUS - 1;
        match self {
            Self::NotANumber { part, list } => {
                let (part, list) = (part.escape_debug(), list.escape_debug());
                write!(f, "'{part}' in CPU list '{list}' is not a CPU number")
            }
            Self::Backwards { range } => {
                write!(f, "range '{}' in CPU list runs backwards", range.escape_debug())
            }
            Self::TooLarge { cpu } => {
                write!(f, "CPU number {cpu} is beyond the largest supported, {largest}")
            }
            Self::MaskTooLong => write!(f, "mask names a CPU beyond the largest supported, {largest}"),
        }
    }
}

impl std::error::Error for InvalidCpus {}

/// A set of operating-system CPU numbers, each below [`MAX_CPUS`].
///
/// Reads and prints Linux's list format: `0-3,8`. Sets order by their smallest differing member, so that
/// sorting groups of a partition sorts them by first CPU.
///
/// ```
/// use coho_platform::CpuSet;
/// let set: CpuSet = "0-3,8".parse()?;
/// assert_eq!(set.len(), 5);
/// assert_eq!(set.to_string(), "0-3,8");
/// # Ok::<(), coho_platform::InvalidCpus>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct CpuSet {
    /// Bit `cpu % 64` of word `cpu / 64`; no trailing zero words, so that equality is structural.
    words: Vec<u64>,
}

impl CpuSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// The CPUs `0..count`.
    ///
    /// # Panics
    /// If `count` exceeds [`MAX_CPUS`].
    pub fn up_to(count: u32) -> Self {
        (0..count).collect()
    }

    /// Adds a CPU; returns whether it was new.
    ///
    /// # Panics
    /// If `cpu` is not below [`MAX_CPUS`]: parsers check what they read with [`CpuSet::try_insert`].
    pub fn insert(&mut self, cpu: u32) -> bool {
        assert!(cpu < MAX_CPUS, "CPU number {cpu} is not below {MAX_CPUS}");
        let (word, bit) = ((cpu / 64) as usize, 1u64 << (cpu % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    /// Adds a CPU number that came from outside.
    ///
    /// # Errors
    /// If `cpu` is not below [`MAX_CPUS`].
    pub fn try_insert(&mut self, cpu: u32) -> Result<bool, InvalidCpus> {
        if cpu >= MAX_CPUS {
            return Err(InvalidCpus::TooLarge { cpu });
        }
        Ok(self.insert(cpu))
    }

    /// Removes a CPU; returns whether it was there.
    pub fn remove(&mut self, cpu: u32) -> bool {
        let was = self.contains(cpu);
        if was {
            self.words[(cpu / 64) as usize] &= !(1 << (cpu % 64));
            self.trim();
        }
        was
    }

    /// Whether `cpu` is a member.
    pub fn contains(&self, cpu: u32) -> bool {
        self.words.get((cpu / 64) as usize).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The smallest member.
    pub fn first(&self) -> Option<u32> {
        self.iter().next()
    }

    /// The largest member.
    pub fn last(&self) -> Option<u32> {
        let last = self.words.last()?;
        Some((self.words.len() as u32 - 1) * 64 + 63 - last.leading_zeros())
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        // A word with its lowest set bit cleared, until none is left.
        let some = |word: u64| (word != 0).then_some(word);
        self.words.iter().enumerate().flat_map(move |(index, &word)| {
            let rests = std::iter::successors(some(word), move |&word| some(word & (word - 1)));
            rests.map(move |word| index as u32 * 64 + word.trailing_zeros())
        })
    }

    /// The mask as 64-bit words, least significant first, without trailing zero words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Members of both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        let words = self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect();
        Self::from_words(words)
    }

    /// Members of either set.
    pub fn union(&self, other: &Self) -> Self {
        let mut words = self.words.clone();
        words.resize(words.len().max(other.words.len()), 0);
        for (word, more) in words.iter_mut().zip(&other.words) {
            *word |= more;
        }
        Self::from_words(words)
    }

    /// Members of this set that the other lacks.
    pub fn difference(&self, other: &Self) -> Self {
        let mut words = self.words.clone();
        for (word, less) in words.iter_mut().zip(&other.words) {
            *word &= !less;
        }
        Self::from_words(words)
    }

    /// Whether every member of this set is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).is_empty()
    }

    /// Whether the two sets share a member.
    pub fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// Whether the two sets share a member and neither holds the other, as sets of one hierarchy never do.
    pub fn crosses(&self, other: &Self) -> bool {
        self.intersects(other) && !self.is_subset(other) && !other.is_subset(self)
    }

    /// A set from 64-bit mask words, least significant first.
    ///
    /// # Errors
    /// If a bit at or beyond [`MAX_CPUS`] is set.
    pub fn try_from_words(words: &[u64]) -> Result<Self, InvalidCpus> {
        let set = Self::from_words(words.iter().copied().take((MAX_CPUS / 64) as usize).collect());
        if words.iter().skip((MAX_CPUS / 64) as usize).any(|&word| word != 0) {
            return Err(InvalidCpus::MaskTooLong);
        }
        Ok(set)
    }

    fn from_words(words: Vec<u64>) -> Self {
        let mut set = Self { words };
        set.trim();
        set
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = Self::new();
        set.extend(cpus);
        set
    }
}

impl Extend<u32> for CpuSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, cpus: I) {
        for cpu in cpus {
            self.insert(cpu);
        }
    }
}

impl PartialOrd for CpuSet {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CpuSet {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.iter().cmp(other.iter())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            match last - first {
                0 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

impl FromStr for CpuSet {
    type Err = InvalidCpus;

    /// Parses `0-3,8`; blank text is the empty set, blanks around parts are allowed.
    fn from_str(text: &str) -> Result<Self, InvalidCpus> {
        let mut set = Self::new();
        if text.trim().is_empty() {
            return Ok(set);
        }
        let number = |part: &str| -> Result<u32, InvalidCpus> {
            let part = part.trim();
            // Parsing an integer would accept a sign, which a CPU number must not have.
            let cpu: u32 = part
                .parse()
                .ok()
                .filter(|_| !part.starts_with('+'))
                .ok_or_else(|| InvalidCpus::NotANumber { part: part.into(), list: text.trim().into() })?;
            if cpu < MAX_CPUS {
                return Ok(cpu);
            }
            Err(InvalidCpus::TooLarge { cpu })
        };
        for part in text.split(',') {
            match part.split_once('-') {
                None => set.extend([number(part)?]),
                Some((first, last)) => {
                    let (first, last) = (number(first)?, number(last)?);
                    if first > last {
                        return Err(InvalidCpus::Backwards { range: part.trim().into() });
                    }
                    set.extend(first..=last);
                }
            }
        }
        Ok(set)
    }
}

#[cfg(feature = "serde")]
mod serde_impl {
    use super::CpuSet;

    /// Serialised as an array of CPU numbers, for scripts.
    impl serde::Serialize for CpuSet {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(self.iter())
        }
    }

    impl<'de> serde::Deserialize<'de> for CpuSet {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let cpus = Vec::<u32>::deserialize(deserializer)?;
            let mut set = Self::new();
            for cpu in cpus {
                set.try_insert(cpu).map_err(serde::de::Error::custom)?;
            }
            Ok(set)
        }
    }

    #[cfg(feature = "schema")]
    impl schemars::JsonSchema for CpuSet {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> std::borrow::Cow<'static, str> {
            "CpuSet".into()
        }

        fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
            let mut schema = generator.subschema_for::<Vec<u32>>();
            schema.insert("description".into(), "CPU numbers of the operating system, ascending".into());
            schema
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    #[test]
    fn lists_round_trip() {
        for text in ["", "0", "0-3,8", "1,3,5", "62-66", "65535"] {
            assert_eq!(set(text).to_string(), text);
        }
        assert_eq!(set(" 3, 1-2\n").to_string(), "1-3");
    }

    #[test]
    fn bad_lists_say_what_is_wrong() {
        for (text, part) in [
            ("a", "'a'"),
            ("3-1", "backwards"),
            ("65536", "beyond"),
            ("0-99999999", "beyond"),
            ("1,,2", "''"),
            ("0-+3", "'+3'"),
        ] {
            let error = text.parse::<CpuSet>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn removing_the_last_member_equals_never_having_had_it() {
        let mut cpus = set("1,200");
        assert!(cpus.remove(200));
        assert!(!cpus.remove(200));
        assert_eq!(cpus, set("1"));
        assert_eq!(cpus.last(), Some(1));
    }

    #[test]
    fn set_algebra() {
        let (a, b) = (set("0-3,70"), set("2-5"));
        assert_eq!(a.intersection(&b), set("2-3"));
        assert_eq!(a.union(&b), set("0-5,70"));
        assert_eq!(a.difference(&b), set("0-1,70"));
        assert!(set("70").is_subset(&a) && !b.is_subset(&a));
        assert!(a.intersects(&b) && !set("0").intersects(&b));
        assert!(set("0-1") < set("2-3"));
    }
}
