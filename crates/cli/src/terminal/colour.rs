//! Colours that a terminal shows, from near to far.

use std::io::IsTerminal;

/// What the terminal on standard output can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// No colours: not a terminal, or the user wants none.
    None,
    /// The 256 colours of xterm.
    Indexed,
    /// 24 bits.
    True,
}

impl Depth {
    /// Of standard output; `NO_COLOR` (no-color.org) turns colours off.
    pub fn of_stdout() -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let term = set("TERM").unwrap_or_default();
        if !std::io::stdout().is_terminal() || set("NO_COLOR").is_some() || matches!(&*term, "" | "dumb") {
            return Self::None;
        }
        match set("COLORTERM").as_deref() {
            Some("truecolor" | "24bit") => Self::True,
            _ => Self::Indexed,
        }
    }
}

/// Red, green and blue.
pub(super) type Rgb = [u8; 3];

/// From dark blue to yellow: even steps of lightness, also for the colour-blind (anchors of matplotlib's viridis).
const ANCHORS: [Rgb; 6] =
    [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]];

/// The colour of a position from 0 (near) to 1 (far).
pub(super) fn at(position: f64) -> Rgb {
    let place = position.clamp(0.0, 1.0) * (ANCHORS.len() - 1) as f64;
    let below = (place as usize).min(ANCHORS.len() - 2);
    let part = place - below as f64;
    std::array::from_fn(|channel| {
        let (low, high) = (f64::from(ANCHORS[below][channel]), f64::from(ANCHORS[below + 1][channel]));
        (low + (high - low) * part).round() as u8
    })
}

/// The escape sequence that sets a colour; `None` is the terminal's own.
pub(super) fn set(depth: Depth, background: bool, colour: Option<Rgb>) -> String {
    let layer = if background { 48 } else { 38 };
    match (depth, colour) {
        (Depth::None, _) => String::new(),
        (_, None) => format!("\x1b[{}m", layer + 1),
        (Depth::True, Some([r, g, b])) => format!("\x1b[{layer};2;{r};{g};{b}m"),
        (Depth::Indexed, Some(rgb)) => format!("\x1b[{layer};5;{}m", indexed(rgb)),
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
    fn the_ends_are_the_anchors_and_far_is_lighter() {
        assert_eq!((at(-1.0), at(0.0)), (ANCHORS[0], ANCHORS[0]));
        assert_eq!((at(1.0), at(f64::INFINITY)), (ANCHORS[5], ANCHORS[5]));
        let lightness =
            |rgb: Rgb| 0.2126 * f64::from(rgb[0]) + 0.7152 * f64::from(rgb[1]) + 0.0722 * f64::from(rgb[2]);
        assert!((0..=20).map(|i| lightness(at(f64::from(i) / 20.0))).is_sorted());
    }

    #[test]
    fn sequences_are_those_of_ecma_48() {
        assert_eq!(set(Depth::True, false, Some([1, 2, 3])), "\x1b[38;2;1;2;3m");
        assert_eq!(set(Depth::Indexed, true, Some([255, 0, 0])), "\x1b[48;5;196m");
        assert_eq!(set(Depth::Indexed, true, None), "\x1b[49m");
        assert_eq!(set(Depth::None, true, Some([1, 2, 3])), "");
    }
}
