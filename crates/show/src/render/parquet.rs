//! Tables of any size as Parquet, which DuckDB, Spark and pandas read: columns of texts, numbers and counts without
//! nulls, texts by dictionaries, nothing compressed. The format is Apache Parquet's, its metadata Thrift's compact protocol.

use std::collections::HashMap;
use std::io::{self, Write};

/// Rows that are kept until they are written together.
const GROUP: usize = 122_880;
const MAGIC: &[u8; 4] = b"PAR1";
/// What the file names as its writer.
const CREATED_BY: &str = concat!("coho version ", env!("CARGO_PKG_VERSION"));

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// A double.
    Number,
    /// A 64-bit integer.
    Count,
}

/// What stands in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// In a column of [`Kind::Text`].
    Text(&'a str),
    /// In a column of [`Kind::Number`].
    Number(f64),
    /// In a column of [`Kind::Count`].
    Count(i64),
}

/// A file in the making.
#[derive(Debug)]
pub struct Parquet<W> {
    out: W,
    written: u64,
    columns: Vec<Column>,
    rows: usize,
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Column {
    name: &'static str,
    kind: Kind,
    /// The rows' values, or the places of their texts in the dictionary.
    values: Vec<u64>,
    dictionary: HashMap<Box<str>, u64>,
    /// The dictionary as it is written.
    texts: Vec<u8>,
}

/// A written group of rows.
#[derive(Debug)]
struct Group {
    rows: usize,
    bytes: u64,
    chunks: Vec<Chunk>,
}

/// A column of a written group.
#[derive(Debug)]
struct Chunk {
    dictionary: Option<u64>,
    data: u64,
    bytes: u64,
}

impl<W: Write> Parquet<W> {
    /// Begins a file with these columns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(mut out: W, columns: &[(&'static str, Kind)]) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        let column = |(name, kind): &(&'static str, Kind)| Column {
            name,
            kind: *kind,
            values: Vec::new(),
            dictionary: HashMap::new(),
            texts: Vec::new(),
        };
        let columns = columns.iter().map(column).collect();
        Ok(Self { out, written: MAGIC.len() as u64, columns, rows: 0, groups: Vec::new() })
    }

    /// Adds a row, whose values are those of the columns in their order.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// # Panics
    /// If a value is not of its column's kind.
    pub fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
        assert_eq!(values.len(), self.columns.len(), "a value for each column");
        self.columns.iter_mut().zip(values).for_each(|(column, value)| column.add(*value));
        self.rows += 1;
        if self.rows == GROUP { self.end_group() } else { Ok(()) }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        if self.rows > 0 {
            self.end_group()?;
        }
        let footer = self.footer();
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as u32).to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        Ok(self.out)
    }

    fn end_group(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let mut chunks = Vec::new();
        for column in &mut self.columns {
            let begin = self.written;
            let mut page = |page: Vec<u8>| {
                self.written += page.len() as u64;
                self.out.write_all(&page)
            };
            let has_dictionary = column.kind == Kind::Text;
            let mut data = begin;
            if has_dictionary {
                let dictionary = column.dictionary_page();
                data += dictionary.len() as u64;
                page(dictionary)?;
            }
            page(column.data_page())?;
            column.clear();
            chunks.push(Chunk {
                dictionary: has_dictionary.then_some(begin),
                data,
                bytes: self.written - begin,
            });
        }
        let bytes = chunks.iter().map(|chunk| chunk.bytes).sum();
        self.groups.push(Group { rows, bytes, chunks });
        Ok(())
    }

    fn footer(&self) -> Vec<u8> {
        let mut all = Thrift::default();
        all.number(1, I32, 1);
        all.list(2, STRUCT, self.columns.len() + 1);
        all.nested(|root| {
            root.text(4, "rows");
            root.number(5, I32, self.columns.len() as i64);
        });
        for column in &self.columns {
            all.nested(|element| {
                element.number(1, I32, column.kind.physical());
                element.number(3, I32, 0); // required
                element.text(4, column.name);
                if column.kind == Kind::Text {
                    element.number(6, I32, 0); // UTF-8
                }
            });
        }
        all.number(3, I64, self.groups.iter().map(|group| group.rows as i64).sum());
        all.list(4, STRUCT, self.groups.len());
        for group in &self.groups {
            all.nested(|one| {
                one.list(1, STRUCT, group.chunks.len());
                for (column, chunk) in self.columns.iter().zip(&group.chunks) {
                    one.nested(|entry| {
                        entry.number(2, I64, chunk.dictionary.unwrap_or(chunk.data) as i64);
                        entry.structure(3, |meta| column.describe(chunk, group.rows, meta));
                    });
                }
                one.number(2, I64, group.bytes as i64);
                one.number(3, I64, group.rows as i64);
            });
        }
        all.text(6, CREATED_BY);
        all.end()
    }
}

const PLAIN: i64 = 0;
const RLE: i64 = 3;
const BY_DICTIONARY: i64 = 8;

impl Kind {
    fn physical(self) -> i64 {
        match self {
            Self::Count => 2,
            Self::Number => 5,
            Self::Text => 6,
        }
    }
}

impl Column {
    fn add(&mut self, value: Value<'_>) {
        let value = match (self.kind, value) {
            (Kind::Text, Value::Text(text)) => match self.dictionary.get(text) {
                Some(place) => *place,
                None => {
                    let place = self.dictionary.len() as u64;
                    self.dictionary.insert(text.into(), place);
                    self.texts.extend((text.len() as u32).to_le_bytes());
                    self.texts.extend(text.as_bytes());
                    place
                }
            },
            (Kind::Number, Value::Number(value)) => value.to_bits(),
            (Kind::Count, Value::Count(value)) => value.cast_unsigned(),
            (kind, value) => panic!("{value:?} in the column {} of {kind:?}", self.name),
        };
        self.values.push(value);
    }

    fn clear(&mut self) {
        self.values.clear();
        self.dictionary.clear();
        self.texts.clear();
    }

    fn dictionary_page(&self) -> Vec<u8> {
        let mut header = Thrift::page(2, self.texts.len());
        header.structure(7, |own| {
            own.number(1, I32, self.dictionary.len() as i64);
            own.number(2, I32, PLAIN);
        });
        [header.end(), self.texts.clone()].concat()
    }

    fn data_page(&self) -> Vec<u8> {
        let data = match self.kind {
            Kind::Text => self.packed(),
            Kind::Number | Kind::Count => self.values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        };
        let mut header = Thrift::page(0, data.len());
        header.structure(5, |own| {
            own.number(1, I32, self.values.len() as i64);
            own.number(2, I32, if self.kind == Kind::Text { BY_DICTIONARY } else { PLAIN });
            own.number(3, I32, RLE);
            own.number(4, I32, RLE);
        });
        [header.end(), data].concat()
    }

    /// Places in the dictionary, each of as few bits as the largest takes, in one run.
    fn packed(&self) -> Vec<u8> {
        let largest = self.dictionary.len().saturating_sub(1) as u64;
        let bits = (u64::BITS - largest.leading_zeros()).max(1);
        let mut data = vec![bits as u8];
        varint(&mut data, (self.values.len().div_ceil(8) as u64) << 1 | 1);
        let (mut held, mut count) = (0_u64, 0);
        let padding = std::iter::repeat_n(&0, self.values.len().next_multiple_of(8) - self.values.len());
        for value in self.values.iter().chain(padding) {
            held |= value << count;
            count += bits;
            while count >= 8 {
                data.push(held as u8);
                held >>= 8;
                count -= 8;
            }
        }
        data
    }

    fn describe(&self, chunk: &Chunk, rows: usize, meta: &mut Thrift) {
        meta.number(1, I32, self.kind.physical());
        let encodings: &[i64] =
            if self.kind == Kind::Text { &[PLAIN, RLE, BY_DICTIONARY] } else { &[PLAIN, RLE] };
        meta.list(2, I32, encodings.len());
        encodings.iter().for_each(|encoding| meta.zigzag(*encoding));
        meta.list(3, BINARY, 1);
        meta.bytes(self.name);
        meta.number(4, I32, 0); // uncompressed
        meta.number(5, I64, rows as i64);
        meta.number(6, I64, chunk.bytes as i64);
        meta.number(7, I64, chunk.bytes as i64);
        meta.number(9, I64, chunk.data as i64);
        if let Some(dictionary) = chunk.dictionary {
            meta.number(11, I64, dictionary as i64);
        }
    }
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure in Thrift's compact protocol; its fields come in the order of their numbers.
#[derive(Debug, Default)]
struct Thrift {
    data: Vec<u8>,
    last: u8,
}

impl Thrift {
    /// The header of a page of this type.
    fn page(kind: i64, bytes: usize) -> Self {
        let mut header = Self::default();
        header.number(1, I32, kind);
        header.number(2, I32, bytes as i64);
        header.number(3, I32, bytes as i64);
        header
    }

    fn field(&mut self, number: u8, kind: u8) {
        self.data.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    fn number(&mut self, number: u8, kind: u8, value: i64) {
        self.field(number, kind);
        self.zigzag(value);
    }

    fn zigzag(&mut self, value: i64) {
        varint(&mut self.data, ((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    fn text(&mut self, number: u8, text: &str) {
        self.field(number, BINARY);
        self.bytes(text);
    }

    fn bytes(&mut self, text: &str) {
        varint(&mut self.data, text.len() as u64);
        self.data.extend(text.as_bytes());
    }

    /// The head of a list, whose elements follow.
    fn list(&mut self, number: u8, of: u8, len: usize) {
        self.field(number, LIST);
        match len {
            0..15 => self.data.push((len as u8) << 4 | of),
            _ => {
                self.data.push(0xf0 | of);
                varint(&mut self.data, len as u64);
            }
        }
    }

    fn structure(&mut self, number: u8, fill: impl FnOnce(&mut Self)) {
        self.field(number, STRUCT);
        self.nested(fill);
    }

    /// A structure that is an element of a list.
    fn nested(&mut self, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.data.extend(inner.end());
    }

    fn end(mut self) -> Vec<u8> {
        self.data.push(0);
        self.data
    }
}

fn varint(data: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        data.push(value as u8 | 0x80);
        value >>= 7;
    }
    data.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_packed_from_the_lowest_bit() {
        let mut column = Column {
            name: "c",
            kind: Kind::Text,
            values: Vec::new(),
            dictionary: HashMap::new(),
            texts: Vec::new(),
        };
        for text in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            column.add(Value::Text(text));
        }
        // The format's own example: 0 to 7 of three bits each.
        assert_eq!(column.packed(), [3, 0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        column.add(Value::Text("a"));
        assert_eq!(column.packed()[1], 0b101, "nine are two runs of eight");
    }

    #[test]
    fn numbers_are_zigzag_varints() {
        let of = |value| {
            let mut thrift = Thrift::default();
            thrift.zigzag(value);
            thrift.data
        };
        assert_eq!((of(0), of(-1), of(1), of(-150)), (vec![0], vec![1], vec![2], vec![0xab, 2]));
    }

    #[test]
    fn a_file_ends_with_its_footer() {
        let mut file = Parquet::new(Vec::new(), &[("name", Kind::Text), ("value", Kind::Number)]).unwrap();
        file.row(&[Value::Text("x"), Value::Number(1.5)]).unwrap();
        let bytes = file.finish().unwrap();
        assert!(bytes.starts_with(MAGIC) && bytes.ends_with(MAGIC));
        let length = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
        let footer = &bytes[bytes.len() - 8 - length..bytes.len() - 8];
        assert!(footer.windows(5).any(|part| part == b"value") && footer.ends_with(&[0]));
    }
}
