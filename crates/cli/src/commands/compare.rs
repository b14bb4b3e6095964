//! `coho compare`: compares a profile with another, with published figures or with the papers' conclusions.

use anyhow::bail;
use coho_model::claims;
use coho_show::sections::papers;
use coho_show::{Comparison, NearestComparison, Subject, compare, compare_nearest};

use crate::printed;

const EXAMPLES: &str = examples![
    ("What changed between two surveys", "coho compare before.json after.json"),
    ("This machine beside a paper's", "coho compare mine.json published:kawabe-furuya"),
    ("Which published machine is most like this one", "coho compare mine.json published:nearest"),
    ("Which of the papers' conclusions hold here", "coho compare --claims mine.json"),
];

/// Compare a profile with another or with published figures
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A profile file, or one machine of a publication (`published:kawabe-furuya/e5620`)
    #[arg(value_name = "A", required_unless_present = "claims")]
    first: Option<String>,
    /// What to compare it with: a profile file, `published:NAME[/MACHINE]`, or `published:nearest`, the machine most like A
    /// by the times between its CPUs
    #[arg(value_name = "B", required_unless_present = "claims")]
    second: Option<String>,
    /// Check the papers' conclusions against the figures of this profile
    #[arg(long, value_name = "PROFILE", conflicts_with_all = ["first", "second"])]
    claims: Option<String>,
    #[command(flatten)]
    how: printed::How,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(profile) = &args.claims {
        let subject = Subject::only(profile)?;
        let judge = if subject.published { claims::judge_published } else { claims::judge };
        let measured = subject.profile.host.as_ref().is_some_and(|host| host.coho_version.is_some());
        return args.how.print(&judge(&subject.profile), |judged| papers::claims::parts(judged, measured));
    }
    let (Some(first), Some(second)) = (&args.first, &args.second) else {
        bail!("give two profiles to compare, or one with --claims");
    };
    let subject = Subject::only(first)?;
    if second == "published:nearest" {
        return args.how.print(&compare_nearest(subject)?, NearestComparison::parts);
    }
    let subjects = Subject::load_all(&[first.clone(), second.clone()])?;
    args.how.print(&compare(&subjects), Comparison::parts)
}
