//! What README.md shows must exist: make targets, commands and their options; and every command must stand there.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn help(arguments: &[&str]) -> Option<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_coho")).args(arguments).arg("--help").output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

fn read(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(name)).unwrap()
}

/// Lines of code blocks and inline code.
fn code(readme: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut in_block = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if in_block || line.starts_with("    ") {
            lines.push(line.trim().to_owned());
        } else {
            lines.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    lines
}

#[test]
fn every_command_shown_exists_and_every_command_is_shown() {
    let readme = read("README.md");
    let mut shown = BTreeSet::new();
    for line in code(&readme) {
        let mut words = line.split_whitespace().skip_while(|word| *word != "coho").skip(1);
        let Some(command) = words.next().filter(|word| word.chars().all(|c| c.is_ascii_lowercase())) else {
            continue;
        };
        let text = help(&[command]).unwrap_or_else(|| panic!("'{line}': no command '{command}'"));
        for option in words.take_while(|word| *word != "--").filter(|word| word.starts_with("--")) {
            let name = option.split('=').next().unwrap().trim_end_matches([',', '.']);
            let known =
                text.split(|c: char| c.is_whitespace() || c == ',' || c == '[').any(|word| word == name);
            // A command with subcommands lists its options one level down.
            assert!(known || text.contains("Commands:"), "'{line}': 'coho {command}' has no option '{name}'");
        }
        shown.insert(command.to_owned());
    }
    let all = help(&[]).unwrap();
    let commands =
        all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    for command in commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        assert!(shown.contains(command), "README.md does not mention 'coho {command}'");
    }
}

#[test]
fn every_make_target_shown_exists() {
    let makefile = read("Makefile");
    let mut targets = 0;
    for line in code(&read("README.md")) {
        let Some(target) = line.strip_prefix("make ").and_then(|rest| rest.split_whitespace().next()) else {
            continue;
        };
        assert!(makefile.lines().any(|line| line.starts_with(&format!("{target}:"))), "no target '{target}'");
        targets += 1;
    }
    assert!(targets >= 2, "README.md shows its two commands");
}
