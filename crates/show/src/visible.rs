//! Text from elsewhere, made harmless: what steers a terminal or turns a line around is shown, never sent.
//!
//! File names, arguments, profiles, matrices and the machine itself bring such text. All that the command prints goes
//! through here: [`Out`] is its standard output and [`say!`](crate::say) its standard error.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, StdoutLock, Write};

use crate::letters;

/// How a hidden character is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `\u{202e}`, for people, in letters of their locale.
    Plain,
    /// `\u{202e}`, for programs that read text.
    Data,
    /// `\u202e`, which means the same character inside a JSON string.
    Json,
    /// `&#x202e;`, which means the same character inside XML, or `\u{1b}` where XML has no way to say it.
    Xml,
}

/// Whether a character does something other than being seen: control characters except line feed and tab, marks and
/// overrides of direction, separators and other characters without a width.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Separators of lines and paragraphs; embeddings, overrides, isolates; the byte order mark; tags.
        '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => c.is_control(),
    }
}

/// The text with every hidden character written out.
pub fn visible(text: &str, style: Style) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        let code = u32::from(c);
        let _ = match style {
            _ if !is_hidden(c) => shown.write_char(c),
            Style::Json => {
                c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(shown, "\\u{unit:04x}"))
            }
            Style::Xml if code >= 0x7f => write!(shown, "&#x{code:x};"),
            Style::Plain | Style::Data | Style::Xml => write!(shown, "\\u{{{code:x}}}"),
        };
    }
    Cow::Owned(shown)
}

/// The same on one line: line feeds and tabs become spaces.
pub fn on_one_line(text: &str) -> String {
    visible(text, Style::Plain).replace(['\n', '\t'], " ")
}

/// Standard output.
#[derive(Debug)]
pub struct Out {
    to: StdoutLock<'static>,
    style: Style,
}

impl Out {
    /// For text of this kind.
    pub fn new(style: Style) -> Self {
        Self { to: io::stdout().lock(), style }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for chunk in bytes.utf8_chunks() {
            let text = visible(chunk.valid(), self.style);
            let text = if self.style == Style::Plain { letters::of_locale(&text) } else { text };
            self.to.write_all(text.as_bytes())?;
            if !chunk.invalid().is_empty() {
                let unknown = char::REPLACEMENT_CHARACTER.to_string();
                let unknown =
                    if self.style == Style::Plain { letters::of_locale(&unknown) } else { unknown.into() };
                self.to.write_all(unknown.as_bytes())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Also sends text unchanged, for the colours that the program itself writes to the terminal.
pub trait Paint: Write {
    /// Sends it as it is, but for the locale's letters. Nothing from elsewhere may be in it.
    fn paint(&mut self, own: &str) -> io::Result<()>;
}

impl Paint for Out {
    fn paint(&mut self, own: &str) -> io::Result<()> {
        self.to.write_all(letters::of_locale(own).as_bytes())
    }
}

#[cfg(test)]
impl Paint for Vec<u8> {
    fn paint(&mut self, own: &str) -> io::Result<()> {
        self.write_all(own.as_bytes())
    }
}

/// Writes one line to standard error, whatever names are in it; a failure to write it is ignored.
pub fn say(line: fmt::Arguments<'_>) {
    let line = on_one_line(&line.to_string()) + "\n";
    let _ = io::stderr().lock().write_all(letters::of_locale(&line).as_bytes());
}

/// `eprintln!` for text that may come from elsewhere.
#[macro_export]
macro_rules! say {
    ($($arguments:tt)*) => {
        $crate::visible::say(format_args!($($arguments)*))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind that a terminal or a reader would obey.
    const HOSTILE: &str = "\u{1b}[31m\u{7}\r\u{7f}\u{85}\u{9b}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}\u{2028}\u{feff}\u{e0041}";

    #[test]
    fn what_is_hidden_is_written_out() {
        assert_eq!(visible("a\u{202e}b", Style::Plain), "a\\u{202e}b");
        for style in [Style::Plain, Style::Json, Style::Xml] {
            let shown = visible(HOSTILE, style);
            assert!(!shown.contains(is_hidden), "{shown}");
            assert!(matches!(visible("Größe µ – 中文 ▀\n\t", style), Cow::Borrowed(_)));
        }
        assert_eq!(on_one_line("a\nb\tc\u{1b}"), "a b c\\u{1b}");
    }

    #[test]
    fn json_keeps_its_meaning() {
        // serde_json escapes what JSON requires; only the rest is left.
        let json = serde_json::to_string(HOSTILE).unwrap();
        let shown = visible(&json, Style::Json);
        assert!(!shown.contains(is_hidden));
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), HOSTILE);
    }
}
