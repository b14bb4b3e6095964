//! `coho card`: a machine as one picture to paste and one small JSON object.

use std::path::{Path, PathBuf};

use anyhow::Context;
use coho_profile::{check_unnamed, check_writable, write_atomic, write_unnamed};
use coho_show::Subject;
use coho_show::card::{self, Card};

use crate::arguments::{check_outputs, file_name};
use crate::newest;

/// Where the picture goes if no file is named.
const DEFAULT: &str = "card.svg";

const EXAMPLES: &str = examples![
    ("The newest survey here as a picture to paste", "coho card -o card.svg"),
    ("A profile, also as a small JSON object", "coho card -p mine.json -o card.svg --json card.json"),
    ("Two machines side by side", "coho card mine.json published:kawabe-furuya/x7560 -o both.svg"),
];

/// Draw a machine on a card, to paste into a page
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// One profile, or two to stand side by side: files, or `published:NAME[/MACHINE]` [default: the newest
    /// coho-DATE.json here]
    #[arg(value_name = "PROFILE", num_args = 0..=2, conflicts_with = "profile")]
    profiles: Vec<String>,
    /// The profile to read
    #[arg(short, long, value_name = "FILE")]
    profile: Option<String>,
    /// Where to write the picture [default: card.svg]
    #[arg(short, long, value_name = "FILE", value_parser = file_name())]
    output: Option<PathBuf>,
    /// Also write the figures as JSON into this file
    #[arg(long, value_name = "FILE", value_parser = file_name())]
    json: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let names: Vec<&String> = args.profiles.iter().chain(&args.profile).collect();
    let inputs: Vec<&Path> = names.iter().map(Path::new).collect();
    let picture = args.output.as_deref().unwrap_or(Path::new(DEFAULT));
    let outputs: Vec<&Path> = [picture].into_iter().chain(args.json.as_deref()).collect();
    check_outputs(&outputs, &inputs)?;
    match args.output {
        Some(_) => check_writable(picture)?,
        None => check_unnamed(picture)?,
    }
    let subjects = match names.is_empty() {
        false => names.iter().map(|name| Subject::only(name)).collect::<Result<Vec<_>, _>>()?,
        true => {
            let newest = newest::subject()?;
            let newest =
                newest.context("there is no profile here; name one by -p, or let `coho survey` write one")?;
            newest.say("card of");
            vec![newest.subject]
        }
    };
    let cards: Vec<Card> = subjects.into_iter().map(|subject| Card::of(&subject.answered())).collect();
    let write = if args.output.is_some() { write_atomic } else { write_unnamed };
    write(picture, card::svg(&cards).as_bytes())?;
    if let Some(file) = &args.json {
        write_atomic(file, card::json(&cards)?.as_bytes())?;
    }
    let written: Vec<String> = outputs.iter().map(|path| path.display().to_string()).collect();
    coho_show::say!("wrote {}", written.join(" and "));
    Ok(())
}
