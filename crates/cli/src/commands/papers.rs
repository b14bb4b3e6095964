//! `coho papers`: the papers' tables, figures and systems, and which of them a profile has.

use std::path::{Path, PathBuf};

use clap::builder::TypedValueParser;
use coho_probe::host;
use coho_profile::Profile;
use coho_profile::published::{Paper, repeated};
use coho_show::sections::papers;
use coho_show::{Subject, papers_page, read};

use crate::arguments::{check_outputs, file_name, offering};
use crate::newest;
use crate::page_file::PageFile;
use crate::printed;

const EXAMPLES: &str = examples![
    ("The papers' tables and figures, and which of them were measured here", "coho papers"),
    ("Each of a paper's beside a profile's figures", "coho papers nakamura-fbs -p mine.json"),
    ("The same as a page", "coho papers kawabe-furuya -p mine.json --report papers.html"),
];

/// Show the papers' tables and figures beside this machine's
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Show each table, figure and system of this paper
    #[arg(value_name = "PAPER", value_parser = offering(str::parse::<String>.try_map(named), names()))]
    paper: Option<&'static Paper>,
    /// The profile whose figures stand beside the published ones [default: the newest coho-DATE.json here, or that of
    /// `coho run`; without either, nothing was measured]
    #[arg(short, long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Also write the paper, or all of them, as a page
    #[arg(long, value_name = "FILE", value_parser = file_name())]
    report: Option<PathBuf>,
    #[command(flatten)]
    how: printed::How,
}

fn names() -> impl Iterator<Item = &'static str> {
    repeated().map(|paper| paper.name)
}

fn named(name: String) -> Result<&'static Paper, String> {
    let known = repeated().find(|paper| paper.name == name);
    known.ok_or_else(|| format!("there are: {}", names().collect::<Vec<_>>().join(", ")))
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let page_file = args.report.as_deref().map(|path| PageFile::new(Some(path), ""));
    if let Some(file) = &page_file {
        let inputs: Vec<&Path> = args.profile.as_deref().map(Path::new).into_iter().collect();
        check_outputs(&[file.path()], &inputs)?;
        file.check("--report")?;
    }
    let subject = subject(args)?.answered();
    let chosen: Vec<&'static Paper> = args.paper.map_or_else(|| repeated().collect(), |paper| vec![paper]);
    if let Some(file) = page_file {
        file.write(&papers_page(&subject, &chosen))?;
        coho_show::say!("wrote {}", file.path().display());
    }
    let listed =
        subject.answers.papers.iter().filter(|one| chosen.iter().any(|paper| paper.name == one.paper));
    let listed: Vec<_> = listed.cloned().collect();
    args.how.print(&listed, |listed| match args.paper {
        Some(paper) => read::readable(papers::whole(paper, &subject)),
        None => papers::list(listed),
    })
}

/// The profile that is named, the newest one, or this machine with nothing measured.
fn subject(args: &Args) -> anyhow::Result<Subject> {
    if let Some(name) = &args.profile {
        return Ok(Subject::only(name)?);
    }
    if let Some(newest) = newest::subject()? {
        newest.say("papers beside");
        return Ok(newest.subject);
    }
    coho_show::say!("coho: there is no profile here: nothing was measured; `coho survey` writes one");
    let topology = coho_topology::detect().ok().map(Into::into);
    Ok(Subject::new("this machine", Profile { host: Some(host::collect()), topology, ..Profile::default() }))
}
