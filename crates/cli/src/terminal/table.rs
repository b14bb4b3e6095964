//! Tables that keep to the width of a page.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, presets};

/// Tables are read on terminals and pasted into reports.
pub(super) const COLUMNS: u16 = 80;

/// A table whose first `left` columns are text and whose others are figures.
pub(super) fn table<const N: usize>(header: [&str; N], left: usize, rows: Vec<[String; N]>) -> Table {
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
