//! The command `coho`: arguments, tables, plots and reports over what the other crates measure and predict.
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod arguments;
mod cli;
mod commands;
mod gather;
mod history;
mod newest;
#[cfg(feature = "packed")]
mod packed;
mod page_file;
mod printed;
mod progress;
mod results;

use std::io::Write;
use std::process::ExitCode;

use coho_platform::{file_limit, memory, stop, trust};
use coho_show::say;

fn main() -> ExitCode {
    // It writes files and starts programs that its user names.
    if trust::acts_for_another() {
        say!(
            "coho: it refuses to act as another user or group than the one who started it: its file must have neither \
              set-user-ID nor set-group-ID"
        );
        return ExitCode::FAILURE;
    }
    memory::spare_address_space();
    if let Err(error) = file_limit::as_errors() {
        say!("coho: warning: a limit on the size of files may end this: {error}");
    }
    #[cfg(feature = "packed")]
    packed::provide_all();
    let cli = match cli::Cli::read() {
        Ok(cli) => cli,
        Err(ended) => return ended,
    };
    let done = cli.command.run().and_then(|status| Ok(std::io::stdout().flush().map(|()| status)?));
    let status = match done {
        Ok(status) => status,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say!("coho: {error:#}");
            match error.downcast_ref() {
                Some(&results::Stopped { signal }) => ExitCode::from(128 + signal as u8),
                None if error.is::<arguments::WrongUsage>() => ExitCode::from(2),
                None => ExitCode::FAILURE,
            }
        }
    };
    // A signal decides the exit status, whatever was measured before it.
    stop::exit_status().map_or(status, ExitCode::from)
}

/// Whether the reader of our output stopped early (`coho … | head`), which is not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().map(|io| io.kind())
    };
    error.chain().filter_map(io).any(|kind| kind == std::io::ErrorKind::BrokenPipe)
}
