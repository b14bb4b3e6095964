//! `coho man`: the manual page, one section a command.

use std::io::Write;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::Cli;

pub fn run() -> anyhow::Result<()> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    for sub in command.get_subcommands() {
        writeln!(page, ".SH \"COHO {}\"", sub.get_name().to_uppercase())?;
        let man = Man::new(sub.clone());
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    std::io::stdout().write_all(&page)?;
    Ok(())
}
