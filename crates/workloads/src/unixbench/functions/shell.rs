//! Shell Scripts: a script run repeatedly, with several copies at a time.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Environment, Failure, Report, Stretch, tried};

/// Runs `script CONCURRENT` in a loop; reports loops a minute.
pub(in crate::unixbench) fn shell(
    time: Duration,
    script: &Path,
    environment: Environment<'_>,
    concurrent: u32,
) -> Result<Report, Failure> {
    let stretch = Stretch::begin(time)?;
    let mut count = 0;
    while !stretch.is_over() {
        let mut command = Command::new(script);
        command.arg(concurrent.to_string()).envs(environment.iter().cloned());
        let status = tried("the script", command.status())?;
        if !status.success() {
            let why = std::io::Error::other(format!("it ended with {status}"));
            return Err(Failure { doing: "the script", why });
        }
        count += 1;
    }
    Ok(stretch.report(count, 60.0))
}
