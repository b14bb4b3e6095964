//! `coho doctor`: what this machine and its user lack for coho.

use coho_probe::host;
use coho_run::doctor::{Facts, Row, State, rows};
use coho_show::part::{Part, Text};
use coho_show::words;

use crate::{history, printed};

const EXAMPLES: &str = examples![
    ("What is lacking here, what that costs, and what would change it", "coho doctor"),
    ("The same for scripts", "coho doctor --json"),
];

/// Say what this machine and its user lack for coho
///
/// It takes some seconds where events can be counted, as these are tested.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print the rows as JSON, and nothing else
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let host = host::collect();
    let moves = history::moves(&host);
    let rows = rows(&Facts::here(host.hypervisor, moves)?);
    printed::How { json: args.json, full: false }.print(&rows, |rows| parts(rows))
}

/// What is lacking, each with what it costs and what would change it; what is not, in one sentence.
fn parts(rows: &[Row]) -> Vec<Part> {
    let (fine, lacking): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.state == State::Fine);
    let line =
        |label: &str, text: &str| (!text.is_empty()).then(|| Part::summary(Text::labelled(label, text)));
    let of_row = |row: &&Row| {
        [line(row.what, &row.why), line("  costs", &row.costs), line("  fix", &row.fix)].into_iter().flatten()
    };
    let fine = words::joined(fine.iter().map(|row| format!("{} ({})", row.what, row.why)), ", ");
    lacking.iter().flat_map(of_row).chain(line("in order", &fine)).collect()
}
