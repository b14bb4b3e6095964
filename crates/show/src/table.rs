//! Tables: columns that say how their cells follow from a row's item, and rows that `compare` knows by keys.

use crate::figure::Figure;
use crate::part::Depth;
use crate::visible::on_one_line;
use crate::words;

/// Rows and columns.
#[derive(Debug, Clone)]
pub struct Table {
    /// Stable, for files: `pairs`.
    pub id: String,
    /// What it tells, with the papers it repeats: `Coherence time by claimed class (Kawabe & Furuya, tables 1 and 2)`.
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// What the columns mean, below the table; sentences.
    pub notes: Vec<String>,
}

impl Table {
    /// Whether nothing stands in it: such a table is not shown.
    pub fn is_empty(&self) -> bool {
        self.filled_columns().next().is_none()
    }

    /// The places of the columns in which anything stands: others are not shown.
    pub fn filled_columns(&self) -> impl Iterator<Item = usize> {
        let is_filled = |at: &usize| self.rows.iter().any(|row| row.cells[*at] != Cell::Nothing);
        (0..self.columns.len()).filter(is_filled)
    }

    /// The figures that `compare` sets side by side, each with its whole key, its row's key and its column.
    pub fn compared(&self) -> impl Iterator<Item = (String, &Key, &Column, &Figure)> {
        let rows = self.rows.iter().filter_map(|row| Some((row.key.as_ref()?, &row.cells)));
        let cells = rows.flat_map(|(key, cells)| cells.iter().zip(&self.columns).map(move |of| (key, of)));
        cells.filter_map(|(key, (cell, column))| {
            let (Cell::Figure(figure), Some(ending)) = (cell, column.key) else { return None };
            Some((format!("{}.{ending}", key.id), key, column, figure))
        })
    }

    /// A table with a row for each item; its columns follow.
    pub fn of<T: Copy>(
        id: impl Into<String>,
        title: impl Into<String>,
        items: impl IntoIterator<Item = T>,
    ) -> TableOf<T> {
        let items: Vec<T> = items.into_iter().collect();
        let rows = items.iter().map(|_| Row::default()).collect();
        let (id, title) = (id.into(), title.into());
        TableOf { items, table: Self { id, title, columns: Vec::new(), rows, notes: Vec::new() } }
    }
}

/// A table in the making: a row for each item, a column for each function of it.
#[derive(Debug, Clone)]
#[must_use]
pub struct TableOf<T> {
    items: Vec<T>,
    table: Table,
}

impl<T> TableOf<T> {
    pub fn done(self) -> Table {
        self.table
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.table.notes.push(note.into());
        self
    }

    pub fn note_if(mut self, is_needed: bool, note: impl Into<String>) -> Self {
        self.table.notes.extend(is_needed.then(|| note.into()));
        self
    }
}

impl<T: Copy> TableOf<T> {
    pub fn column<C: Into<Cell>>(self, column: Column, cell: impl Fn(T) -> C) -> Self {
        self.filled(column, &|item| cell(item).into())
    }

    /// Not generic over the function, as each of the hundreds of columns would have its own copy.
    fn filled(mut self, column: Column, cell: &dyn Fn(T) -> Cell) -> Self {
        self.table.columns.push(column);
        self.each(&|row, item| row.cells.push(cell(item)))
    }

    pub fn text<C: Into<Cell>>(self, name: impl Into<String>, cell: impl Fn(T) -> C) -> Self {
        self.column(Column::text(name), cell)
    }

    pub fn figures<C: Into<Cell>>(
        self,
        name: impl Into<String>,
        unit: &'static str,
        cell: impl Fn(T) -> C,
    ) -> Self {
        self.column(Column::figures(name, unit), cell)
    }

    /// With a column of figures that `compare` sets side by side, under the row's key and this ending.
    pub fn compared<C: Into<Cell>>(
        self,
        name: impl Into<String>,
        unit: &'static str,
        key: &'static str,
        cell: impl Fn(T) -> C,
    ) -> Self {
        self.column(Column::figures(name, unit).compared(key), cell)
    }

    /// With a column of text at the right: figures with their units, or words that stand for a figure.
    pub fn right<C: Into<Cell>>(self, name: impl Into<String>, cell: impl Fn(T) -> C) -> Self {
        self.column(Column::right(name), cell)
    }

    /// Adds several columns at once. `cells` lists their cells of a row; a list that is too short leaves the last ones empty.
    pub fn columns<L: IntoIterator<Item: Into<Cell>>>(
        mut self,
        columns: impl IntoIterator<Item = Column>,
        cells: impl Fn(T) -> L,
    ) -> Self {
        self.table.columns.extend(columns);
        let count = self.table.columns.len();
        self.each(&|row, item| {
            row.cells.extend(cells(item).into_iter().map(Into::into));
            row.cells.resize(count, Cell::Nothing);
        })
    }

    /// With a column for each of several things.
    pub fn columns_of<S: Copy, C: Into<Cell>>(
        self,
        things: impl IntoIterator<Item = S>,
        column: impl Fn(S) -> Column,
        cell: impl Fn(T, S) -> C,
    ) -> Self {
        things.into_iter().fold(self, |table, thing| table.column(column(thing), |item| cell(item, thing)))
    }

    /// With what `compare` knows each row by, and how people call it there.
    pub fn keyed<I: Into<String>, L: Into<String>>(self, key: impl Fn(T) -> (I, L)) -> Self {
        self.keyed_where(|item| Some(key(item)))
    }

    /// The same where only some rows can be compared.
    pub fn keyed_where<I: Into<String>, L: Into<String>>(self, key: impl Fn(T) -> Option<(I, L)>) -> Self {
        self.each(&|row, item| {
            row.key = key(item).map(|(id, label)| Key { id: id.into(), label: label.into() })
        })
    }

    /// Rows of which this is true are shown only to those who want everything.
    pub fn detail_if(self, is_detail: impl Fn(T) -> bool) -> Self {
        self.each(&|row, item| row.depth = if is_detail(item) { Depth::Detail } else { row.depth })
    }

    pub fn detail_after(mut self, shown: usize) -> Self {
        self.table.rows.iter_mut().skip(shown).for_each(|row| row.depth = Depth::Detail);
        self
    }

    fn each(mut self, change: &dyn Fn(&mut Row, T)) -> Self {
        self.table.rows.iter_mut().zip(&self.items).for_each(|(row, item)| change(row, *item));
        self
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Column {
    /// For people: `time`.
    pub name: String,
    /// `ns`, `cycles`, `10^6/s`; empty where figures have none or the column is text.
    pub unit: &'static str,
    /// Figures stand at the right.
    pub is_figures: bool,
    /// What a key of [`Row`] ends in for this column's figure, `ns`; `None` if `compare` leaves the column out.
    pub key: Option<&'static str>,
    pub depth: Depth,
}

impl Column {
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), unit: "", is_figures: false, key: None, depth: Depth::Summary }
    }

    pub fn figures(name: impl Into<String>, unit: &'static str) -> Self {
        Self { unit, is_figures: true, ..Self::text(name) }
    }

    /// A column of figures with their units, or of words that stand for a figure: text at the right.
    pub fn right(name: impl Into<String>) -> Self {
        Self { is_figures: true, ..Self::text(name) }
    }

    /// Whose figures `compare` sets side by side, under the row's key and this ending.
    pub fn compared(mut self, key: &'static str) -> Self {
        self.key = Some(key);
        self
    }

    /// Shown only to those who want everything.
    pub fn detail(mut self) -> Self {
        self.depth = Depth::Detail;
        self
    }

    /// What stands above it: name and unit, `time, ns`.
    pub fn head(&self) -> String {
        on_one_line(&words::joined([self.name.as_str(), self.unit], ", "))
    }
}

/// A row of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// What its figures are, for `compare`: equal keys are the same quantity measured the same way.
    pub key: Option<Key>,
    /// One for each column.
    pub cells: Vec<Cell>,
    pub depth: Depth,
}

/// What a row's figures are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Stable for scripts, less the column's ending: `coherence.free-running.on-die`.
    pub id: String,
    /// For people, where the table's title does not stand above it: `coherence time, on-die, free-running`.
    pub label: String,
}

/// What stands in a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing was measured, or nothing belongs here.
    Nothing,
    Text(String),
    Figure(Figure),
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Self::Nothing, T::into)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Figure>> From<T> for Cell {
    fn from(figure: T) -> Self {
        Self::Figure(figure.into())
    }
}
