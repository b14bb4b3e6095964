//! Writes docs/papers.md: `cargo run -p coho-profile --example papers >docs/papers.md`.

use std::fmt::Write;

use coho_profile::published::{Entry, Need, repeated};

fn main() {
    print!("{}", page());
}

const HEAD: &str = "\
# The papers' experiments, and the commands that repeat them

`coho papers` shows this list with what you have measured, and `coho papers PAPER` each table and figure with your
machine's beside it, and how its method differs from the paper's. `coho survey` measures everything but UnixBench, calls
by footprint, the transfer paths and the scheduler; with `--quick` it also leaves out MPI and the programs.
`coho report published:nakamura-fbs` draws a paper's figures alone, and
`coho compare profile.json published:nakamura-fbs` sets them beside yours.

The last column names what a machine needs to measure a table or figure, and what it takes to measure it in full.
";

/// The whole page.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for paper in repeated() {
        let _ = write!(
            page,
            "\n## {} (`{}`)\n\n{}: {}, {}.\n\n| | shows | command | needs |\n|---|---|---|---|\n",
            paper.cited(),
            paper.name,
            paper.all_authors,
            paper.title,
            paper.year
        );
        for entry in &paper.contents.entries {
            let Entry { caption, command, .. } = entry;
            let command = command.replace("; ", "`, `");
            let _ = writeln!(page, "| {} | {caption} | `{command}` | {} |", entry.name(), needs(entry));
        }
    }
    page
}

/// What the entry needs; what it needs in full stands in brackets.
fn needs(entry: &Entry) -> String {
    let words = |needs: &[Need]| needs.iter().map(|need| need.words()).collect::<Vec<_>>().join(", ");
    match (words(&entry.needs), words(&entry.in_full)) {
        (needs, in_full) if in_full.is_empty() || needs == in_full => needs,
        (needs, in_full) => format!("{needs} (in full: {in_full})").trim().to_owned(),
    }
}
