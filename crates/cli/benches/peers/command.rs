//! Commands that are run for what they print or make.

use std::process::Command;

/// What a command prints if it succeeds; otherwise what it says on standard error, on one line after its name.
pub fn printed(command: &mut Command) -> Result<Vec<u8>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!("{name}: {}", lines(&output.stderr)))
}

/// What a program said, on one line.
pub fn lines(text: &[u8]) -> String {
    String::from_utf8_lossy(text).split_whitespace().collect::<Vec<_>>().join(" ")
}
