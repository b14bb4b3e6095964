//! How wide text is.

use std::io::stdout;
use std::sync::OnceLock;

/// Text is read, and pasted into reports, at this width.
pub const COLUMNS: usize = 80;
/// Narrower than this, sentences are hard to read and tables do not fit.
const FEWEST: usize = 40;

/// The width of lines on standard output: that in `COLUMNS` or the terminal's, from 40 to 80.
pub fn columns() -> usize {
    static WIDTH: OnceLock<usize> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        let wanted = std::env::var("COLUMNS").ok();
        let terminal = rustix::termios::tcgetwinsize(stdout()).ok().map(|size| usize::from(size.ws_col));
        width(wanted.as_deref(), terminal)
    })
}

fn width(wanted: Option<&str>, terminal: Option<usize>) -> usize {
    let wanted = wanted.and_then(|text| text.parse().ok());
    let known = [wanted, terminal].into_iter().flatten().find(|&width| width > 0);
    known.map_or(COLUMNS, |width| width.clamp(FEWEST, COLUMNS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_a_narrow_terminal_and_a_wide_one_is_not_filled() {
        assert_eq!(width(None, None), 80);
        assert_eq!(width(None, Some(0)), 80, "a terminal that does not know its size");
        assert_eq!((width(None, Some(60)), width(None, Some(20)), width(None, Some(200))), (60, 40, 80));
        assert_eq!(width(Some("50"), Some(70)), 50);
        assert_eq!((width(Some("wide"), Some(70)), width(Some("0"), Some(70))), (70, 70));
    }
}
