//! Messages to the user that do not pass through the program's own streams.

use std::fmt::Display;

/// Writes a line to standard error at once, after `coho` and the library's name. Control characters are escaped.
pub fn line(library: &str, text: impl Display) {
    let text: String = text.to_string().chars().flat_map(shown).collect();
    let line = format!("coho {library}: {text}\n");
    let mut rest = line.as_bytes();
    while !rest.is_empty() {
        // SAFETY: the buffer has that many bytes.
        match unsafe { libc::write(libc::STDERR_FILENO, rest.as_ptr().cast(), rest.len()) } {
            written @ 1.. => rest = &rest[written as usize..],
            _ => return,
        }
    }
}

fn shown(character: char) -> impl Iterator<Item = char> {
    let bidirectional = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let plain = (!character.is_control() && !bidirectional).then_some(character);
    let escaped = plain.is_none().then(|| character.escape_default());
    plain.into_iter().chain(escaped.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_shown() {
        let text: String = "a\u{1b}[1mb\u{202e}c\n".chars().flat_map(shown).collect();
        assert_eq!(text, "a\\u{1b}[1mb\\u{202e}c\\n");
    }
}
