//! The XML that hwloc and FreeBSD write, read as a stream of elements that know their lines.
//!
//! Depth, attributes and size are bounded and no entity is ever expanded, so hostile text cannot cost more than its
//! length.

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use crate::Error;

/// Deeper nesting than any machine's (hwloc's deepest has some 15 levels) is refused.
const MAX_DEPTH: usize = 128;
/// More attributes than any element of either format has.
const MAX_ATTRIBUTES: usize = 64;

/// An opened element.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) line: usize,
    attributes: Vec<(String, String)>,
}

impl Element {
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    pub(crate) fn require(&self, key: &str) -> Result<&str, Error> {
        self.get(key).ok_or_else(|| self.error(format!("<{}> has no attribute '{key}'", self.name)))
    }

    /// An attribute read as a number, if it is there.
    pub(crate) fn number<T: std::str::FromStr>(&self, key: &str) -> Result<Option<T>, Error> {
        let number = |text: &str| {
            text.trim().parse().map_err(|_| self.error(format!("{key}=\"{text}\" is not a number in range")))
        };
        self.get(key).map(number).transpose()
    }

    /// An error about this element.
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::at_line(self.line, message)
    }
}

/// What comes next in the text.
#[derive(Debug)]
pub(crate) enum Node {
    /// `<name …>`, and also `<name …/>`, which a [`Node::Close`] follows.
    Open(Element),
    /// The end of the element opened last.
    Close,
    /// Character data.
    Text(String),
    /// The end of the document.
    End,
}

/// The root element's name, past declarations and comments.
pub(crate) fn root(text: &str) -> Result<String, Error> {
    let mut reader = Reader::new(text, 1);
    loop {
        match reader.next()? {
            Node::Open(element) => return Ok(element.name),
            Node::Text(_) | Node::Close => {}
            Node::End => return Err(reader.error("the XML holds no element")),
        }
    }
}

/// Reads XML node by node.
pub(crate) struct Reader<'a> {
    inner: quick_xml::Reader<&'a [u8]>,
    text: &'a str,
    /// Bytes whose line ends have been counted into `line`.
    counted: usize,
    line: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// Reads a text whose first line has this number in its file.
    pub(crate) fn new(text: &'a str, line: usize) -> Self {
        let mut inner = quick_xml::Reader::from_str(text);
        inner.config_mut().expand_empty_elements = true;
        Self { inner, text, counted: 0, line, depth: 0 }
    }

    /// The line that reading has reached.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::at_line(self.line, message)
    }

    /// The next node; comments, declarations and processing instructions are passed over.
    pub(crate) fn next(&mut self) -> Result<Node, Error> {
        loop {
            let event = self.inner.read_event();
            let failed = event.is_err();
            self.count_lines(if failed { self.inner.error_position() } else { self.inner.buffer_position() });
            let event = event.map_err(|error| self.error(format!("not well-formed XML: {error}")))?;
            return Ok(match event {
                Event::Start(start) | Event::Empty(start) => Node::Open(self.open(&start)?),
                Event::End(_) => {
                    self.depth -= 1;
                    Node::Close
                }
                Event::Text(text) => Node::Text(text.into_inner().into_owned()),
                Event::CData(text) => Node::Text(text.into_inner().into_owned()),
                Event::GeneralRef(entity) => Node::Text(self.entity(&entity.into_inner())?),
                Event::Eof if self.depth > 0 => return Err(self.error("the text ends inside an element")),
                Event::Eof => Node::End,
                Event::DocType(declaration) if declaration.contains("<!ENTITY") => {
                    return Err(self.error("the document type defines entities, which are not read"));
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => continue,
            });
        }
    }

    /// The character data up to the end of the element opened last.
    pub(crate) fn text_to_close(&mut self) -> Result<String, Error> {
        let mut text = String::new();
        loop {
            match self.next()? {
                Node::Text(more) => text += &more,
                Node::Close => return Ok(text),
                Node::Open(inner) => {
                    return Err(inner.error(format!("unexpected <{}> inside text", inner.name)));
                }
                Node::End => return Err(self.error("the text ends inside an element")),
            }
        }
    }

    /// Skips the rest of the element opened last, whatever it holds.
    pub(crate) fn skip_to_close(&mut self) -> Result<(), Error> {
        let outside = self.depth - 1;
        while self.depth > outside {
            self.next()?;
        }
        Ok(())
    }

    fn open(&mut self, start: &BytesStart<'_>) -> Result<Element, Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(format!("elements nest deeper than {MAX_DEPTH}")));
        }
        let mut attributes = Vec::new();
        for attribute in start.attributes() {
            if attributes.len() == MAX_ATTRIBUTES {
                return Err(self.error(format!("an element has more than {MAX_ATTRIBUTES} attributes")));
            }
            let attribute = attribute.map_err(|error| self.error(format!("bad attribute: {error}")))?;
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| self.error(format!("bad attribute value: {error}")))?;
            attributes.push((attribute.key.0.to_owned(), value.into_owned()));
        }
        Ok(Element { name: start.name().0.to_owned(), line: self.line, attributes })
    }

    fn entity(&self, name: &str) -> Result<String, Error> {
        quick_xml::escape::unescape(&format!("&{name};"))
            .map(std::borrow::Cow::into_owned)
            .map_err(|error| self.error(format!("entity '&{name};' is not read: {error}")))
    }

    fn count_lines(&mut self, position: u64) {
        let position = usize::try_from(position).unwrap_or(usize::MAX).min(self.text.len());
        if let Some(passed) = self.text.as_bytes().get(self.counted..position) {
            self.line += passed.iter().filter(|&&byte| byte == b'\n').count();
            self.counted = position;
        }
    }
}
