//! Where a declaration begins in the text of a C or C++ file.

use std::iter;

/// A text in which everything but code is blanks: comments, strings, and lines for the preprocessor. Places stay the
/// same.
pub(super) fn code_of(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    let mut is_first = true;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let end = match rest {
            [b'/', b'/', ..] => line_end(rest),
            [b'/', b'*', ..] => {
                2 + rest[2..].windows(2).position(|two| two == b"*/").map_or(rest.len() - 2, |end| end + 2)
            }
            [quote @ (b'"' | b'\''), ..] => string_end(rest, *quote),
            [b'#', ..] if is_first => line_end(rest),
            [byte, ..] => {
                is_first = *byte == b'\n' || is_first && byte.is_ascii_whitespace();
                at += 1;
                continue;
            }
            [] => break,
        };
        code[at..at + end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        at += end;
    }
    code
}

/// Where a line ends that may go on behind a backslash.
fn line_end(rest: &[u8]) -> usize {
    let mut ends = rest.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    ends.find(|&at| !rest[..at].ends_with(b"\\")).unwrap_or(rest.len())
}

fn string_end(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote && rest[at] != b'\n' {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// Where the declaration begins that declares this name at a line and column, both from 1. `None` if the name does not
/// stand there, or is not declared as what can be aligned.
pub(super) fn declaration(code: &[u8], name: &str, line: usize, column: Option<usize>) -> Option<usize> {
    let mut starts = iter::once(0)
        .chain(code.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1));
    let start = starts.nth(line.checked_sub(1)?)?;
    let length = code[start..].iter().position(|byte| *byte == b'\n').unwrap_or(code.len() - start);
    let at = match column.and_then(|column| column.checked_sub(1)) {
        Some(column) => Some(start + column).filter(|at| is_word(code, *at, name))?,
        // Without a column, the name must stand there but once.
        None => {
            let mut all = (start..start + length).filter(|at| is_word(code, *at, name));
            all.next().filter(|_| all.next().is_none())?
        }
    };
    let end_before = |at: usize| code[..at].iter().rposition(|byte| b";{}".contains(byte));
    let mut before = end_before(at);
    // A structure without a name ends right before what is declared of it.
    if let Some(end) = before.filter(|end| code[*end] == b'}' && is_nothing(&code[end + 1..at])) {
        before = end_before(opening(code, end)?);
    }
    let before = before.map_or(0, |end| end + 1);
    // An access specifier, such as `private:`, ends a declaration as well. `::` is part of a name.
    let is_label =
        |place: &usize| code[*place] == b':' && code[place - 1] != b':' && code.get(place + 1) != Some(&b':');
    let after_label = (before.max(1)..at).rev().find(is_label).map_or(before, |label| label + 1);
    let begin = (after_label..at).find(|place| !code[*place].is_ascii_whitespace())?;
    // A name in parentheses, or among arguments, is none of an object that lies here.
    (!code[begin..at].iter().any(|byte| b"()=".contains(byte))).then_some(begin)
}

fn is_nothing(code: &[u8]) -> bool {
    code.iter().all(|byte| byte.is_ascii_whitespace() || *byte == b'*')
}

/// The brace that opens what one closes.
fn opening(code: &[u8], end: usize) -> Option<usize> {
    let mut depth = 0_usize;
    code[..=end].iter().rposition(|byte| {
        match byte {
            b'}' => depth += 1,
            b'{' => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

fn is_word(code: &[u8], at: usize, name: &str) -> bool {
    let is_of_name =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    code.get(at..at + name.len()) == Some(name.as_bytes())
        && !is_of_name(code.get(at + name.len()))
        && !is_of_name(at.checked_sub(1).and_then(|before| code.get(before)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "#define X ; /* ; */ \\\n ;\n// a;\n\
                        struct a { long x; /* of all; */ std::atomic<long> y, z; };\n\
                        class b {\nprivate:\n    unsigned\n    long one; char two[sizeof(\";\")];\n};\n\
                        static long (*call)(int now);\n\
                        struct c { long m; struct { struct { long d; } e; } f, *g; } h;\n";

    fn begins(name: &str, line: usize, column: Option<usize>) -> Option<&'static str> {
        let code = code_of(TEXT);
        assert_eq!(code.len(), TEXT.len());
        declaration(&code, name, line, column).map(|at| TEXT[at..].split(';').next().unwrap())
    }

    #[test]
    fn declarations_begin_behind_what_comes_before_them() {
        assert_eq!(begins("x", 4, Some(17)), Some("long x"));
        assert_eq!(begins("z", 4, None), Some("std::atomic<long> y, z"));
        assert_eq!(begins("one", 8, Some(10)), Some("unsigned\n    long one"));
        assert_eq!(begins("f", 11, None), Some("struct { struct { long d"));
        assert_eq!(begins("e", 11, Some(48)), Some("struct { long d"));
        assert_eq!(begins("two", 8, None), Some("char two[sizeof(\""));
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        for (name, line, column) in
            [("x", 4, Some(18)), ("lon", 4, Some(12)), ("y", 3, None), ("y", 99, None), ("x", 0, None)]
        {
            assert_eq!(begins(name, line, column), None, "{name}");
        }
        assert_eq!(begins("now", 10, None), None, "it is an argument");
        assert_eq!(begins("call", 10, None), None);
    }
}
