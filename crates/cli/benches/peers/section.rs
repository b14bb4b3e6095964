//! A section of a profile that coho measures.

use std::process::Command;

use serde_json::Value;

/// What `coho ARGUMENTS --json` prints.
pub fn of(arguments: &[&str]) -> Result<Value, String> {
    read(&mut coho(arguments))
}

/// The command `coho ARGUMENTS --json`.
pub fn coho(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coho"));
    command.args(arguments).arg("--json");
    command
}

/// What a command prints.
pub fn read(command: &mut Command) -> Result<Value, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// An estimate's median.
pub fn median(estimate: &Value) -> Option<f64> {
    estimate["median"].as_f64()
}

/// `120`, or a dash.
pub fn shown(value: Option<f64>) -> String {
    value.map_or_else(
        || "–".into(),
        |value| if value < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") },
    )
}
