//! Text as it was printed, without what a terminal or a page made of it.

use std::borrow::Cow;

/// A line of the text: its number, counted from 1, and what it says.
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) text: Cow<'a, str>,
}

/// How the start of an escape sequence looks where it was copied as text.
const SPELLED: [&str; 6] = ["^[[", "\\e[", "\\033[", "\\x1b[", "\\x1B[", "\\u001b["];

/// The lines without colours and other escape sequences, with plain spaces and bars, and without the marks of a quotation.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let text = text.trim_start_matches('\u{feff}').trim_end();
    let mut lines: Vec<Line<'_>> =
        text.lines().enumerate().map(|(index, line)| Line { number: index + 1, text: clean(line) }).collect();
    let mut told = lines.iter().filter(|line| !line.text.trim().is_empty()).peekable();
    if told.peek().is_some() && told.all(|line| line.text.starts_with('>')) {
        for line in &mut lines {
            let rest = line.text.strip_prefix('>').unwrap_or_default();
            line.text = Cow::Owned(rest.strip_prefix(' ').unwrap_or(rest).to_owned());
        }
    }
    lines
}

fn clean(line: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii() && !c.is_ascii_control() || c == '\t';
    if line.chars().all(is_plain) && !line.contains('[') {
        return Cow::Borrowed(line);
    }
    let mut spelled = line.to_owned();
    for start in SPELLED {
        spelled = spelled.replace(start, "\u{1b}[");
    }
    let mut clean = String::with_capacity(line.len());
    let mut rest = spelled.as_str();
    while let Some(next) = rest.chars().next() {
        if let Some(length) = escape(rest) {
            rest = &rest[length..];
            continue;
        }
        rest = &rest[next.len_utf8()..];
        match next {
            // What was printed before it was overwritten.
            '\r' if !rest.is_empty() && !rest.starts_with('\r') => clean.clear(),
            '\t' => clean.push('\t'),
            '│' | '┃' | '║' => clean.push('|'),
            // A degree of error that was read in a wrong encoding.
            'Â' | '┬' => {}
            '\u{fffd}' | '▒' => clean.push('±'),
            '\u{2212}' => clean.push('-'),
            '\u{200b}' | '\u{feff}' => {}
            space if space.is_whitespace() && !space.is_control() => clean.push(' '),
            control if control.is_control() => {}
            other => clean.push(other),
        }
    }
    Cow::Owned(clean)
}

/// The length of the escape sequence that a text begins with; colours also where the escape itself was lost.
fn escape(text: &str) -> Option<usize> {
    let after = text.strip_prefix('\u{1b}').unwrap_or(text);
    let is_whole = after.len() < text.len();
    let escaped = text.len() - after.len();
    if let Some(sequence) = after.strip_prefix('[') {
        let end = sequence.find(|c: char| !matches!(c, '0'..='?' | ' '..='/'));
        let end = end.filter(|&end| sequence[end..].starts_with(|c: char| matches!(c, '@'..='~')));
        let is_colour = |end: &usize| {
            sequence[*end..].starts_with('m')
                && sequence[..*end].bytes().all(|c| c.is_ascii_digit() || c == b';')
        };
        return end.filter(|end| is_whole || is_colour(end)).map(|end| escaped + 1 + end + 1);
    }
    if let Some(title) = after.strip_prefix(']').filter(|_| is_whole) {
        return Some(title.find('\u{7}').map_or(text.len(), |end| escaped + 1 + end + 1));
    }
    is_whole.then(|| escaped + after.chars().next().map_or(0, char::len_utf8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> String {
        lines(text).iter().map(|line| line.text.as_ref()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn colours_and_other_marks_are_left_out() {
        assert_eq!(cleaned("  1 \u{1b}[38;5;2m  35\u{1b}[0m±0 \u{1b}[K"), "  1   35±0 ");
        assert_eq!(cleaned("  1 [32m  35[0m±0"), "  1   35±0");
        assert_eq!(cleaned("1 ^[[32m35^[[0m 2\\x1b[1m6"), "1 35 26");
        assert_eq!(cleaned("\u{1b}]0;title\u{7}1\u{a0}35Â±0"), "1 35±0");
        assert_eq!(cleaned("10 %\r20 %\r  1  35\r\r\n  2"), "  1  35\n  2");
        assert_eq!(cleaned("> 1 2\n>\n> 3 4"), "1 2\n\n3 4");
        assert_eq!(cleaned("[1, 2]"), "[1, 2]");
        assert_eq!(cleaned("\u{1b}"), "");
    }
}
