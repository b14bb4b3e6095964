//! Colours that a terminal shows.

use std::io::IsTerminal;

use crate::colour::Rgb;
use crate::letters;

/// What the terminal on standard output can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// No colours: not a terminal, or the user wants none.
    None,
    /// The 256 colours of xterm.
    Indexed,
    /// 24 bits.
    True,
}

impl Colours {
    /// Of standard output; `NO_COLOR` (no-color.org) turns colours off.
    pub fn of_stdout() -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let term = set("TERM").unwrap_or_default();
        // A map's points are halves of blocks, which only UTF-8 has.
        if !letters::are_utf8() {
            return Self::None;
        }
        if !std::io::stdout().is_terminal() || set("NO_COLOR").is_some() || matches!(&*term, "" | "dumb") {
            return Self::None;
        }
        match set("COLORTERM").as_deref() {
            Some("truecolor" | "24bit") => Self::True,
            _ => Self::Indexed,
        }
    }
}

/// The escape sequence that sets a colour; `None` is the terminal's own.
pub(super) fn set(colours: Colours, background: bool, colour: Option<Rgb>) -> String {
    let layer = if background { 48 } else { 38 };
    match (colours, colour) {
        (Colours::None, _) => String::new(),
        (_, None) => format!("\x1b[{}m", layer + 1),
        (Colours::True, Some([r, g, b])) => format!("\x1b[{layer};2;{r};{g};{b}m"),
        (Colours::Indexed, Some(rgb)) => format!("\x1b[{layer};5;{}m", indexed(rgb)),
    }
}

/// The nearest of the 6 x 6 x 6 colours.
fn indexed(rgb: Rgb) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let nearest =
        |value: u8| (0..6u8).min_by_key(|&level| LEVELS[usize::from(level)].abs_diff(value)).unwrap_or(0);
    16 + 36 * nearest(rgb[0]) + 6 * nearest(rgb[1]) + nearest(rgb[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_those_of_ecma_48() {
        assert_eq!(set(Colours::True, false, Some([1, 2, 3])), "\x1b[38;2;1;2;3m");
        assert_eq!(set(Colours::Indexed, true, Some([255, 0, 0])), "\x1b[48;5;196m");
        assert_eq!(set(Colours::Indexed, true, None), "\x1b[49m");
        assert_eq!(set(Colours::None, true, Some([1, 2, 3])), "");
    }
}
