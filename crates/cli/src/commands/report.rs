//! `coho report`: profiles as a page to read, as charts for a paper, or as tables for other programs.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::Context;
use coho_profile::write_unnamed;
use coho_show::{Subject, files, page, words};

use crate::arguments::{check_outputs, file_name, is_stdout};
use crate::page_file::PageFile;

/// Where the page goes if no file is named.
const DEFAULT: &str = "report.html";

const EXAMPLES: &str = examples![
    ("A report on one profile", "coho report mine.json -o mine.html"),
    ("Every chart and every table as a file of its own", "coho report mine.json --svg charts --csv tables"),
];

/// Turn profiles into a page, charts or tables
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Profile files, or `published:NAME` (`published:kawabe-furuya/e5620`)
    #[arg(required = true, value_name = "PROFILE")]
    profiles: Vec<String>,
    /// Where to write the page, - for standard output [default: report.html]
    ///
    /// The page is one file and loads nothing from elsewhere.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write every chart, map and drawing as an SVG file into this folder
    ///
    /// The files are called barriers.svg, heat-map-turn.svg, topology.svg, …; those of a second profile end in
    /// -2.svg, and so on.
    #[arg(long, value_name = "DIR", value_parser = file_name())]
    svg: Option<PathBuf>,
    /// Also write every table and matrix as a CSV file into this folder (barriers.csv, …)
    #[arg(long, value_name = "DIR", value_parser = file_name())]
    csv: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let inputs: Vec<_> = args.profiles.iter().map(Path::new).collect();
    let page_file = PageFile::new(args.output.as_deref(), DEFAULT);
    check_outputs(&[page_file.path()], &inputs)?;
    if !is_stdout(page_file.path()) {
        page_file.check("-o")?;
    }
    let subjects: Vec<Subject> =
        Subject::load_all(&args.profiles)?.into_iter().map(Subject::answered).collect();
    write(&page_file, &page(&subjects))?;
    if let Some(folder) = &args.svg {
        write_all(folder, "svg", &subjects, |subject| Ok(files::svg(subject)))?;
    }
    if let Some(folder) = &args.csv {
        write_all(folder, "csv", &subjects, |subject| Ok(files::csv(subject)?))?;
    }
    Ok(())
}

/// Writes the files of every profile into a folder, creating it if needed.
fn write_all(
    folder: &Path,
    ending: &str,
    subjects: &[Subject],
    of: impl Fn(&Subject) -> anyhow::Result<Vec<(String, String)>>,
) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut written = 0;
    for (index, subject) in subjects.iter().enumerate() {
        let number = if index > 0 { format!("-{}", index + 1) } else { String::new() };
        for (stem, content) in of(subject)? {
            let file = folder.join(format!("{stem}{number}.{ending}"));
            write_unnamed(&file, content.as_bytes())?;
            written += 1;
        }
    }
    let files = words::count(written, &format!("{} file", ending.to_uppercase()));
    coho_show::say!("wrote {files} into {}", folder.display());
    Ok(())
}

fn write(file: &PageFile, page: &str) -> anyhow::Result<()> {
    if is_stdout(file.path()) {
        // Unchanged: the page already renders text from elsewhere harmless.
        return Ok(stdout().lock().write_all(page.as_bytes())?);
    }
    file.write(page)?;
    coho_show::say!("wrote {}", file.path().display());
    Ok(())
}
