//! `coho report`: profiles as a page to read, or as charts for a paper.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use coho_profile::{check_writable, write_atomic};

use crate::arguments::{check_outputs, file_name, is_stdout};
use crate::report::{self, subject::Subject};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Profile files, or `published:NAME` (`published:kawabe-furuya/e5620`)
    #[arg(required = true, value_name = "PROFILE")]
    profiles: Vec<String>,
    /// Where to write the page, - for standard output; it stands alone and fetches nothing
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Also write the charts as SVG files into this folder: heat-map-METHOD.svg, class-histogram-METHOD.svg, cpi.svg,
    /// latency-by-size.svg, calls-SET.svg, fork-join.svg, fork-join-parts.svg, barriers.svg, daxpy.svg, daxpy-model.svg,
    /// galerkin.svg, weather.svg; those of a second profile end in -2.svg, and so on
    #[arg(long, value_name = "DIR", value_parser = file_name())]
    svg: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let inputs: Vec<_> = args.profiles.iter().map(Path::new).collect();
    check_outputs(&[&args.output], &inputs)?;
    if !is_stdout(&args.output) {
        check_writable(&args.output)?;
    }
    let subjects = Subject::load_all(&args.profiles)?;
    write(&args.output, &report::render(&subjects))?;
    if let Some(folder) = &args.svg {
        for file in report::write_svgs(&subjects, folder)? {
            crate::say!("wrote {}", file.display());
        }
    }
    Ok(())
}

fn write(output: &Path, page: &str) -> anyhow::Result<()> {
    if is_stdout(output) {
        // As it is: the page shows text from elsewhere harmlessly, and its drawing library must not change.
        return Ok(stdout().lock().write_all(page.as_bytes())?);
    }
    write_atomic(output, page.as_bytes())?;
    crate::say!("wrote {}", output.display());
    Ok(())
}
