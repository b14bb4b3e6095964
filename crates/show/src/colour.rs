//! The colour of each thing, the same in every chart. The palette is Okabe and Ito's, which works for any colour vision
//! (M. Okabe, K. Ito, "Color universal design", 2008) and can be read on light and dark ground.

/// A colour of the palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour(&'static str);

const PALETTE: [Colour; 7] = [
    Colour("#0072b2"),
    Colour("#d55e00"),
    Colour("#009e73"),
    Colour("#cc79a7"),
    Colour("#e69f00"),
    Colour("#56b4e9"),
    Colour("#8c8c8c"),
];

impl Colour {
    /// For what others are compared with: limits, other tools, published lines.
    pub const GREY: Self = PALETTE[6];
    /// For modes, and for what holds.
    pub const GREEN: Self = PALETTE[2];
    /// For changes, and for what does not hold.
    pub const RED: Self = PALETTE[1];

    /// The `index`-th of things that have no colour of their own; grey, which means a comparison, is not among them.
    pub fn nth(index: usize) -> Self {
        PALETTE[index % (PALETTE.len() - 1)]
    }

    /// The colour of a class of pairs, under the name that [`crate::words::class_of`] gives it.
    pub fn of_class(class: &str) -> Self {
        match class {
            "smt" | "within level 1" => PALETTE[5],
            "module" | "l2" => PALETTE[2],
            "on-die" | "within level 2" => PALETTE[0],
            "package" | "numa" | "numa node" | "within level 3" => PALETTE[3],
            "1-hop" | "system" | "across all levels" => PALETTE[4],
            "2-hop" => PALETTE[1],
            _ => Self::GREY,
        }
    }

    /// As CSS and SVG write it.
    pub fn css(self) -> &'static str {
        self.0
    }
}

/// Red, green and blue.
pub type Rgb = [u8; 3];

/// From dark blue to yellow: even steps of lightness, also for the colour-blind (anchors of matplotlib's viridis).
const ANCHORS: [Rgb; 6] =
    [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]];

/// The colour of a position from 0 (near) to 1 (far), for maps.
pub fn of_distance(position: f64) -> Rgb {
    let place = position.clamp(0.0, 1.0) * (ANCHORS.len() - 1) as f64;
    let below = (place as usize).min(ANCHORS.len() - 2);
    let part = place - below as f64;
    std::array::from_fn(|channel| {
        let (low, high) = (f64::from(ANCHORS[below][channel]), f64::from(ANCHORS[below + 1][channel]));
        (low + (high - low) * part).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_the_anchors_and_far_is_lighter() {
        assert_eq!((of_distance(-1.0), of_distance(0.0)), (ANCHORS[0], ANCHORS[0]));
        assert_eq!((of_distance(1.0), of_distance(f64::INFINITY)), (ANCHORS[5], ANCHORS[5]));
        let lightness =
            |rgb: Rgb| 0.2126 * f64::from(rgb[0]) + 0.7152 * f64::from(rgb[1]) + 0.0722 * f64::from(rgb[2]);
        assert!((0..=20).map(|i| lightness(of_distance(f64::from(i) / 20.0))).is_sorted());
    }

    #[test]
    fn what_is_no_comparison_is_never_grey() {
        assert!((0..50).all(|index| Colour::nth(index) != Colour::GREY));
    }
}
