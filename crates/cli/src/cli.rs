//! Reads the command line, and says what is wrong with it.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::error::ErrorKind::{DisplayVersion, UnknownArgument};
use clap::{CommandFactory, FromArgMatches, Parser};

use coho_show::render::terminal::wrapped;
use coho_show::visible::on_one_line;
use coho_show::{letters, say};

use crate::commands::Command;

/// What does it cost cores to share? Measure it, predict from it, act on it.
#[derive(Debug, Parser)]
#[command(name = "coho", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// What `coho` alone says.
const INTRODUCTION: &str = "\
coho measures what it costs CPUs to share memory, and says what to do about it.

  What is this machine, and is it what it claims to be?
    coho survey --quick
  Where should my program's threads run, and what would it gain?
    coho run --try -- ./program
  How does it compare with another machine, or with a paper's?
    coho compare mine.json published:kawabe-furuya/x7560

Run `coho --help` for all commands, `coho survey --help` for one with examples.
";

/// Writes the introduction, in lines that fit.
fn introduction(out: &mut impl Write) -> std::io::Result<()> {
    for line in INTRODUCTION.lines() {
        let text = line.trim_start();
        writeln!(out, "{}", wrapped(&line[..line.len() - text.len()], text))?;
    }
    Ok(())
}

/// Prints help, or the version, on standard output.
fn print(error: &clap::Error) -> std::io::Result<()> {
    if letters::are_utf8() {
        return error.print();
    }
    std::io::stdout().lock().write_all(letters::of_locale(&error.render().to_string()).as_bytes())
}

impl Cli {
    /// Reads the command line, or returns the exit status where that is all, as for help or wrong usage.
    ///
    /// # Errors
    /// The exit status.
    pub fn read() -> Result<Self, ExitCode> {
        if std::env::args_os().len() == 1 {
            let told = introduction(&mut std::io::stdout().lock());
            return Err(match told {
                Err(failed) if failed.kind() != ErrorKind::BrokenPipe => ExitCode::FAILURE,
                _ => ExitCode::SUCCESS,
            });
        }
        Self::parse_words(std::env::args_os()).map_err(|error| {
            // clap quotes the arguments in its message, so it gets harmless ones.
            let shown = std::env::args_os().map(|one| on_one_line(&one.to_string_lossy()).into());
            let error = Self::parse_words(shown).err().unwrap_or(error);
            let code = ExitCode::from(error.exit_code() as u8);
            if error.use_stderr() {
                // One prefix for all errors, wherever they arise.
                let mut message = error.render().to_string();
                if error.kind() == UnknownArgument && message.contains("[-- <COMMAND>") {
                    let tip = "\n\n  tip: if the command begins there, put `--` before it\n\nUsage:";
                    message = message.replacen("\n\nUsage:", tip, 1);
                }
                let message = message.strip_prefix("error: ").unwrap_or(&message);
                let _ = write!(std::io::stderr().lock(), "coho: {}", letters::of_locale(message));
                return code;
            }
            match print(&error) {
                Err(failed) if failed.kind() != ErrorKind::BrokenPipe => {
                    say!("coho: {failed}");
                    ExitCode::FAILURE
                }
                _ => code,
            }
        })
    }

    /// Parses words as a command line.
    ///
    /// # Errors
    /// If the words are not a valid command line, or ask for help or the version.
    pub fn parse_words(words: impl Iterator<Item = OsString>) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.collect();
        match Self::parse_by(Self::command(), &words) {
            // Help and hints may be about any command, so now the arguments of all are described.
            Err(error) if error.kind() != DisplayVersion => Self::parse_by(Self::whole(), &words),
            parsed => parsed,
        }
    }

    fn parse_by(mut command: clap::Command, words: &[OsString]) -> Result<Self, clap::Error> {
        let matches = command.try_get_matches_from_mut(words)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }

    /// The command with all its subcommands and their arguments.
    pub fn whole() -> clap::Command {
        let mut command = Self::command().mut_subcommands(Command::described);
        command.build();
        let commands = Command::by_question(&command);
        command.help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n\
             Commands:\n{commands}\nOptions:\n{{options}}{{after-help}}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command that people run, by its words (`predict barrier`); one that only has subcommands is left out.
    fn commands(command: &clap::Command, words: &str, all: &mut Vec<(String, clap::Command)>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
            let words = format!("{words} {}", sub.get_name()).trim().to_owned();
            if !sub.is_subcommand_required_set() {
                all.push((words.clone(), sub.clone()));
            }
            commands(sub, &words, all);
        }
    }

    #[test]
    fn every_command_has_examples_of_it() {
        let mut all = Vec::new();
        commands(&Cli::whole(), "", &mut all);
        for (words, command) in all {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("    ")).collect();
            assert!(!examples.is_empty(), "no example of {words}");
            for example in examples {
                assert!(
                    example.starts_with(&format!("coho {}", words.split(' ').next().unwrap())),
                    "{example}"
                );
                assert_parses(example);
            }
        }
    }

    #[test]
    fn the_help_has_every_command_under_a_question_within_eighty_columns() {
        let mut whole = Cli::whole();
        let help = whole.render_help().to_string();
        for command in whole.get_subcommands().filter(|command| !command.is_hide_set()) {
            let line = format!("\n  {} ", command.get_name());
            assert!(command.get_name() == "help" || help.matches(&line).count() == 1, "{line}{help}");
        }
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }

    #[test]
    fn what_coho_alone_names_are_commands() {
        assert!(INTRODUCTION.lines().count() <= 10);
        let commands = INTRODUCTION.lines().filter_map(|line| line.strip_prefix("    "));
        assert_eq!(commands.map(assert_parses).count(), 3);
    }

    #[test]
    fn what_mpiexec_starts_is_a_command() {
        assert!(Cli::whole().find_subcommand(crate::commands::mpi_rank::NAME).is_some());
    }

    #[track_caller]
    fn assert_parses(command: &str) {
        let parsed = Cli::parse_words(command.split_whitespace().map(Into::into));
        assert!(parsed.is_ok(), "{command}: {}", parsed.err().unwrap());
    }

    /// Checks the commands that findings and the doctor name, with values for their placeholders.
    #[test]
    fn every_command_that_advice_names_is_one() {
        let folders = ["model/src/findings", "run/src/doctor", "run/src/doctor/rows"];
        let entries = folders.iter().flat_map(|folder| {
            std::fs::read_dir(format!("{}/../{folder}", env!("CARGO_MANIFEST_DIR"))).unwrap()
        });
        let files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        let mut commands = 0;
        for file in files {
            let source = std::fs::read_to_string(file).unwrap();
            let source = source.split("#[cfg(test)]").next().unwrap_or_default();
            let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
            let source = code.collect::<Vec<_>>().join("\n");
            // Lines of a string that goes on.
            let source = source
                .replace("\\\n", "")
                .replace("{nearest}", "0-3")
                .replace("{threads}", "4")
                .replace("{short}", "e5620")
                .replace("--type {}", "--type wc,uc");
            for command in source.split('`').filter(|part| part.starts_with("coho ")) {
                let takes_command =
                    command.starts_with("coho run --") || ["coho run", "coho share"].contains(&command);
                assert_parses(&format!("{command}{}", if takes_command { " -- true" } else { "" }));
                commands += 1;
            }
        }
        assert!(commands > 5, "{commands} commands");
    }

    #[test]
    fn every_command_that_would_tell_of_a_claim_is_one() {
        let judged = coho_model::claims::judge(&coho_profile::Profile::default());
        let all = judged.iter().filter_map(|one| one.measure.as_deref());
        all.flat_map(|commands| commands.split("; ")).for_each(assert_parses);
    }

    #[test]
    fn every_command_that_repeats_a_papers_table_or_figure_is_one() {
        let listed = coho_model::papers::list(&coho_profile::Profile::default());
        assert!(listed.len() > 60, "{}", listed.len());
        listed.iter().flat_map(|one| one.command.split("; ")).for_each(assert_parses);
    }
}
