//! What README and docs show: every session runs from the clone's root as it is written, and snippets stand in programs
//! that are compiled; commands, options and links of all pages exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use coho_testing::{Capability, needs};

use crate::support::begins_a_command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The fenced blocks of a language in a text.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(found) = line.trim_start().strip_prefix("```") {
            let block: Vec<_> = lines.by_ref().take_while(|line| line.trim() != "```").collect();
            if found == language {
                blocks.push(block.join("\n"));
            }
        }
    }
    blocks
}

/// The commands of a session, each with the output that stands below it.
fn session(block: &str) -> Vec<(&str, Vec<&str>)> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, Vec::new())),
            (None, Some((_, output))) => output.push(line),
            (None, None) => panic!("output without a command: {line}"),
        }
    }
    commands
}

/// Runs a line of a session as a shell does, with this build's `coho`.
fn shell(folder: &Path, line: &str) -> String {
    let coho = Path::new(env!("CARGO_BIN_EXE_coho")).parent().unwrap();
    let path = format!("{}:{}", coho.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder).env("PATH", path);
    command.env("XDG_STATE_HOME", folder).env("COLUMNS", "80");
    if line.contains("--openmp") {
        // On busy CPUs libgomp's barriers take minutes.
        command.env("OMP_NUM_THREADS", "1");
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {}: {errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// A folder that shows what a clone's root holds, and takes what commands write.
fn like_the_root() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(root()).unwrap().map(Result::unwrap) {
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with('.') && name != "target" {
            std::os::unix::fs::symlink(entry.path(), folder.path().join(name)).unwrap();
        }
    }
    folder
}

/// The heads of the tables in a session's output, between a thin line and a double one; blanks depend on the figures.
fn heads<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lines: Vec<_> = lines.map(str::trim).collect();
    let between = lines.windows(3).filter(|three| three[0].starts_with('─') && three[2].starts_with('═'));
    between.map(|three| three[1].split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn every_session_runs_as_it_is_written() {
    needs!(Capability::TwoCpus, Capability::Gcc);
    let folder = like_the_root();
    let mut run = 0;
    for block in pages().iter().flat_map(|page| blocks(&read(page), "console")) {
        for (command, shown) in session(&block) {
            let output = shell(folder.path(), command);
            assert_eq!(output.is_empty(), shown.is_empty(), "{command}");
            let printed = heads(output.lines());
            for head in heads(shown.iter().copied()) {
                assert!(printed.contains(&head), "{command}: {head}\n{output}");
            }
            // What is read from files is the same everywhere; a line of dots stands for lines left out.
            if command.contains("--from") {
                let lines: Vec<_> = output.lines().map(str::trim_end).collect();
                for line in shown.iter().filter(|line| **line != "…") {
                    assert!(lines.contains(&line.trim_end()), "{command}: {line}\n{output}");
                }
            }
            run += 1;
        }
    }
    assert!(run >= 4, "{run} commands");
}

#[test]
fn the_readme_is_short() {
    let readme = read("README.md");
    let all = readme.split_whitespace().count();
    let shown: usize =
        ["console", "sh"].iter().flat_map(|language| blocks(&readme, language)).map(words).sum();
    assert!(all <= 1500 && all - shown <= 900, "{all} words, {shown} of them in blocks");
}

fn words(text: String) -> usize {
    text.split_whitespace().count()
}

#[test]
fn every_way_to_build_exists() {
    needs!(Capability::Make);
    let readme = read("README.md");
    let mut targets = 0;
    for line in blocks(&readme, "sh").iter().flat_map(|block| block.lines()) {
        if let Some(rest) = line.strip_prefix("cargo install --path ") {
            let member = rest.split_whitespace().next().unwrap();
            assert!(root().join(member).join("Cargo.toml").exists(), "{line}");
            continue;
        }
        let target = line.strip_prefix("make ").and_then(|rest| rest.split_whitespace().next());
        let target = target.unwrap_or_else(|| panic!("neither make nor cargo: {line}"));
        let known = Command::new("make").args(["-n", target]).current_dir(root()).output().unwrap();
        assert!(known.status.success(), "{line}: {}", String::from_utf8_lossy(&known.stderr));
        targets += 1;
    }
    assert!(targets >= 3, "{targets} targets");
}

/// What a survey prints comes after a line on the build, not after hundreds.
#[test]
fn a_build_names_no_crates_and_says_what_else_cargo_says() {
    let folder = tempfile::tempdir().unwrap();
    let cargo = folder.path().join("cargo");
    let said = r#"#!/bin/sh
        echo "$@"
        for i in $(seq 260); do echo "   Compiling crate$i v1.0.0" >&2; done
        printf 'warning: unused\n --> file.rs:1\n    Finished `release` profile in 1s\n' >&2
        exit 7"#;
    std::fs::write(&cargo, said).unwrap();
    let mut command = Command::new("chmod");
    assert!(command.arg("+x").arg(&cargo).status().unwrap().success());
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut build = Command::new(root().join("scripts/build"));
    let output = build.args(["--release", "-p", "coho"]).env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    let told = String::from_utf8(output.stderr).unwrap();
    let expected = "build --release -p coho\ncompiling coho, which takes minutes the first time\n\
                    warning: unused\n --> file.rs:1\n";
    assert_eq!(told, expected);
}

/// Whether every line of a snippet stands in the source, in the same order.
fn is_part(snippet: &str, source: &str) -> bool {
    let mut lines = source.lines().map(str::trim);
    snippet.lines().map(str::trim).all(|line| lines.any(|other| other == line))
}

#[test]
fn snippets_are_parts_of_examples() {
    let page = read("docs/libraries.md");
    for (language, example) in [("rust", "examples/rust/sync.rs"), ("c", "examples/c/sync.c")] {
        let example = read(example);
        let snippets = blocks(&page, language);
        assert!(!snippets.is_empty(), "no {language}");
        for snippet in snippets {
            assert!(is_part(&snippet, &example), "{language}: {snippet}");
        }
    }
}

/// The sources below a folder.
fn sources(folder: &Path) -> Vec<String> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let sources = paths.flat_map(|path| match path.extension() {
        Some(extension) if extension == "rs" => vec![std::fs::read_to_string(path).unwrap()],
        _ if path.is_dir() => sources(&path),
        _ => Vec::new(),
    });
    sources.collect()
}

#[test]
fn the_page_on_adding_an_experiment_shows_code_as_it_is() {
    let crates = ["profile", "probe", "show", "cli"].map(|name| root().join("crates").join(name).join("src"));
    let sources: Vec<String> = crates.iter().flat_map(|folder| sources(folder)).collect();
    let snippets = blocks(&read("docs/adding-an-experiment.md"), "rust");
    assert!(snippets.len() > 9, "{snippets:?}");
    for snippet in snippets {
        assert!(sources.iter().any(|source| is_part(&snippet, source)), "{snippet}");
    }
}

/// The README and every page of docs.
fn pages() -> Vec<String> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().file_name());
    let docs = docs.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(".md"));
    std::iter::once("README.md".to_owned()).chain(docs.map(|name| format!("docs/{name}"))).collect()
}

#[test]
fn links_within_the_project_lead_somewhere() {
    for page in pages() {
        let text = read(&page);
        let folder = root().join(&page).parent().unwrap().to_owned();
        for link in text.split("](").skip(1) {
            let target = &link[..link.find(')').expect("a link's end")];
            if !target.starts_with("https://") {
                assert!(folder.join(target).exists(), "{page}: {target}");
            }
        }
    }
}

/// Lines of code blocks and inline code; of sessions the commands.
fn code(page: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut in_block, mut in_session) = (false, false);
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            (in_block, in_session) = (!in_block, language == "console");
        } else if in_session {
            lines.extend(line.strip_prefix("$ ").map(str::to_owned));
        } else if in_block || line.starts_with("    ") {
            lines.push(line.trim().to_owned());
        } else {
            lines.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    lines
}

fn help(arguments: &[&str]) -> Option<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_coho")).args(arguments).arg("--help").output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

#[test]
fn every_command_shown_exists_and_every_command_is_shown() {
    let mut shown = BTreeSet::new();
    for line in pages().iter().flat_map(|page| code(&read(page))) {
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
    let names =
        commands.filter(|line| begins_a_command(line)).filter_map(|line| line.split_whitespace().next());
    for command in names.filter(|name| *name != "help") {
        assert!(shown.contains(command), "neither README nor docs show 'coho {command}'");
    }
}
