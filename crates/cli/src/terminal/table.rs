//! Tables that keep to the width of a page.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, presets};

/// Tables are read on terminals and pasted into reports.
pub(super) const COLUMNS: u16 = 80;

/// A table whose first `left` columns are text and whose others are figures.
pub fn table<const N: usize>(header: [&str; N], left: usize, rows: Vec<[String; N]>) -> Table {
    let align = |column| if column < left { CellAlignment::Left } else { CellAlignment::Right };
    let cell = |(column, text): (usize, String)| Cell::new(text).set_alignment(align(column));
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(COLUMNS)
        .set_header(header.map(str::to_owned).into_iter().enumerate().map(cell));
    for row in rows {
        table.add_row(row.into_iter().enumerate().map(cell));
    }
    table
}

/// The same for many columns of figures: a single space between them.
pub(super) fn dense(header: &[&str], left: usize, rows: Vec<Vec<String>>) -> Table {
    let align = |column| if column < left { CellAlignment::Left } else { CellAlignment::Right };
    let cell = |(column, text): (usize, String)| Cell::new(text).set_alignment(align(column));
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(COLUMNS)
        .set_header(header.iter().map(|name| (*name).to_owned()).enumerate().map(cell));
    for row in rows {
        table.add_row(row.into_iter().enumerate().map(cell));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    table
}

/// Breaks text between words so that it keeps to the page: behind a label as it stands, later lines indented as far.
pub fn wrapped(label: &str, text: &str) -> String {
    let mut lines = label.to_owned();
    let indent = label.chars().count();
    let mut length = indent;
    for word in text.split_whitespace() {
        let letters = word.chars().count();
        if length > indent && length + 1 + letters > usize::from(COLUMNS) {
            lines.push('\n');
            lines.extend(std::iter::repeat_n(' ', indent));
            length = indent;
        } else if length > indent {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += letters;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_to_the_page() {
        let text = "word ".repeat(60);
        let broken = wrapped("[1] ", &text);
        assert!(broken.lines().all(|line| line.chars().count() <= usize::from(COLUMNS)), "{broken}");
        assert!(broken.lines().skip(1).all(|line| line.starts_with("    word")), "{broken}");
        assert_eq!(broken.split_whitespace().count(), 61);
        assert_eq!(wrapped("RDPMC      ", "not available"), "RDPMC      not available");
    }
}
