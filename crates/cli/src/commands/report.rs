//! `coho report`: profiles as a page to read, or as charts for a paper.

use std::path::{Path, PathBuf};

use coho_profile::{check_writable, write_atomic};

use crate::arguments::check_outputs;
use crate::report::{self, subject::Subject};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Profile files, or `published:NAME` (`published:kawabe-furuya/e5620`)
    #[arg(required = true, value_name = "PROFILE")]
    profiles: Vec<String>,
    /// Where to write the page; it stands alone and fetches nothing
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Also write the charts as SVG files into this folder: heat-map-METHOD.svg, class-histogram-METHOD.svg, cpi.svg,
    /// latency-by-size.svg, calls-SET.svg, fork-join.svg, fork-join-parts.svg, barriers.svg, daxpy.svg, daxpy-model.svg,
    /// galerkin.svg, weather.svg; those of a second profile end in -2.svg, and so on
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let inputs: Vec<_> = args.profiles.iter().map(Path::new).collect();
    check_outputs(&[&args.output], &inputs)?;
    check_writable(&args.output)?;
    let subjects = Subject::load_all(&args.profiles)?;
    write_atomic(&args.output, report::render(&subjects).as_bytes())?;
    crate::say!("wrote {}", args.output.display());
    if let Some(folder) = &args.svg {
        for file in report::write_svgs(&subjects, folder)? {
            crate::say!("wrote {}", file.display());
        }
    }
    Ok(())
}
