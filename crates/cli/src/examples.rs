//! Examples of every command, for its help and its manual page.

/// An example at the end of a command's help: its purpose, and the command.
type Example = (&'static str, &'static str);

/// The examples of a command, by its words: `predict barrier`.
pub fn of(command: &str) -> &'static [Example] {
    ALL.iter().find(|(name, _)| *name == command).map_or(&[], |(_, examples)| examples)
}

const ALL: &[(&str, &[Example])] = &[
    (
        "survey",
        &[
            (
                "Measure this machine in seconds, and write a report to look at",
                "coho survey --quick -o mine.json --report mine.html",
            ),
            ("Measure four CPUs only, for at most a minute", "coho survey --cpus 0-3 --time-limit 60s"),
        ],
    ),
    (
        "findings",
        &[
            ("What the newest survey here means", "coho findings"),
            ("The same for a profile, as JSON for scripts", "coho findings mine.json --json"),
        ],
    ),
    (
        "topology",
        &[
            ("What this machine says it is", "coho topology"),
            ("What another machine's hwloc XML says", "coho topology --from other.xml"),
            ("What the times in a profile show instead", "coho topology --measured -p mine.json"),
        ],
    ),
    (
        "predict cpi",
        &[(
            "What coherence costs a program, by the share of its instructions that cause it",
            "coho predict cpi published:kawabe-furuya",
        )],
    ),
    (
        "predict barrier",
        &[(
            "Which barrier 2 threads should take, and what it costs",
            "coho predict barrier mine.json --threads 2",
        )],
    ),
    (
        "predict placement",
        &[(
            "How FreeBSD's scheduler treats programs under each of three topologies",
            "coho predict placement --why",
        )],
    ),
    (
        "predict openmp",
        &[(
            "What a program's regions and barriers cost here, from the counts of `coho run --openmp --count`",
            "coho predict openmp counts.json -p mine.json",
        )],
    ),
    (
        "predict delegate",
        &[(
            "Which calls another core should execute, from `coho calls --footprint`",
            "coho predict delegate mine.json",
        )],
    ),
    (
        "coherence",
        &[
            ("Every pair of CPUs, and whether the claimed topology holds", "coho coherence"),
            (
                "Check another tool's matrix against a topology",
                "coho coherence --from matrix.csv --topology machine.xml",
            ),
            ("Watch whether the host moves the CPUs", "coho coherence --watch-for 60s"),
        ],
    ),
    (
        "contention",
        &[(
            "Atomic additions by 1, 2 and 4 CPUs at once on one line",
            "coho contention --operations add --threads 1,2,4",
        )],
    ),
    ("counters", &[("What reading a counter costs here, and which events may be used", "coho counters")]),
    (
        "calls",
        &[
            ("System calls and the C library's, warm and cold", "coho calls --set syscalls,libc"),
            ("When another core should execute them", "coho calls --footprint -o mine.json"),
        ],
    ),
    (
        "barrier",
        &[
            ("Every barrier beside its limit, and beside other libraries", "coho barrier --peers"),
            ("Two threads, two barriers", "coho barrier --threads 2 --method fbs,fbs-one-line"),
        ],
    ),
    ("kernels", &[("DAXPY under every barrier", "coho kernels daxpy --quick")]),
    ("bench", &[("Context switches under every placement", "coho bench context1 --place all")]),
    (
        "path",
        &[
            ("The paths that come with coho", "coho path list"),
            (
                "A message through shared memory, by this machine's figures",
                "coho path shared-memory -p mine.json",
            ),
        ],
    ),
    ("path list", &[("The paths that come with coho", "coho path list")]),
    ("path fit", &[("Fixed cost and rate of measured transfers", "coho path fit transfers.csv")]),
    ("path check", &[("How far predictions are off here", "coho path check --quick")]),
    (
        "idle",
        &[
            ("Idle states, and how long waking takes", "coho idle"),
            ("Run a command while CPUs wake within 10 us", "coho idle --dma-latency 10 -- ./server"),
        ],
    ),
    ("idle restore", &[("Undo the settings that a killed coho idle left", "coho idle restore")]),
    (
        "run",
        &[
            ("Find the best placement by trying", "coho run --try -- make -j2"),
            ("Run under the placement that was best", "coho run --place auto -- make -j2"),
            (
                "Run an OpenMP program on coho's barriers, and see whether that pays",
                "coho run --openmp --try -- ./heat",
            ),
            ("Have another core execute the calls that gain from it", "coho run --delegate -- ./server"),
        ],
    ),
    (
        "memory",
        &[
            ("How fast data moves here", "coho memory"),
            (
                "Copies between 4 KiB and 64 MiB by two instructions",
                "coho memory --operations copy --sizes 4K,64K,64M --instructions avx2,avx2-nt",
            ),
        ],
    ),
    (
        "report",
        &[
            ("A report on one profile", "coho report mine.json -o mine.html"),
            (
                "Every chart and every table as a file of its own",
                "coho report mine.json --svg charts --csv tables",
            ),
        ],
    ),
    (
        "compare",
        &[
            ("What changed between two surveys", "coho compare before.json after.json"),
            ("This machine beside a paper's", "coho compare mine.json published:kawabe-furuya"),
            ("Which of the papers' conclusions hold here", "coho compare --claims mine.json"),
        ],
    ),
    ("schema", &[("The JSON Schema of profiles", "coho schema")]),
    ("completions", &[("Completions for bash", "coho completions bash")]),
    ("man", &[("The manual page of a command", "coho man survey")]),
];

/// Adds examples to the help of a command and its subcommands.
pub fn added(command: clap::Command, words: &str) -> clap::Command {
    let shown = of(words).iter().map(|(what, how)| format!("  {what}:\n    {how}"));
    let shown: Vec<String> = shown.collect();
    let command = if shown.is_empty() {
        command
    } else {
        command.after_help(format!("Examples:\n{}", shown.join("\n")))
    };
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let words = if words.is_empty() { name.clone() } else { format!("{words} {name}") };
        command.mut_subcommand(name, |sub| added(sub, &words))
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// Every command except those that only have subcommands or are not for people.
    fn commands(command: &clap::Command, words: &str, all: &mut Vec<String>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
            let words = format!("{words} {}", sub.get_name()).trim().to_owned();
            if !sub.is_subcommand_required_set() {
                all.push(words.clone());
            }
            commands(sub, &words, all);
        }
    }

    #[test]
    fn every_command_has_an_example_and_every_example_is_one() {
        let mut all = Vec::new();
        commands(&Cli::command(), "", &mut all);
        for command in &all {
            assert!(!of(command).is_empty(), "no example of {command}");
        }
        for (name, examples) in ALL {
            assert!(all.iter().any(|command| command == name), "{name} is no command");
            for (_, example) in *examples {
                assert!(
                    example.starts_with(&format!("coho {}", name.split(' ').next().unwrap())),
                    "{example}"
                );
                assert_parses(example);
            }
        }
    }

    #[track_caller]
    fn assert_parses(command: &str) {
        let parsed = Cli::parse_words(command.split_whitespace().map(Into::into));
        assert!(parsed.is_ok(), "{command}: {}", parsed.err().unwrap());
    }

    /// Checks the commands that findings name, with values for their placeholders.
    #[test]
    fn every_command_that_a_finding_names_is_one() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../model/src/findings");
        let mut commands = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
            let source = code.collect::<Vec<_>>().join("\n");
            // Lines of a string that goes on.
            let source = source
                .replace("\\\n", "")
                .replace("{nearest}", "0-3")
                .replace("{threads}", "4")
                .replace("{short}", "e5620");
            for command in source.split('`').filter(|part| part.starts_with("coho ")) {
                assert_parses(command);
                commands += 1;
            }
        }
        assert!(commands > 5, "{commands} commands");
    }

    #[test]
    fn every_command_that_would_tell_of_a_claim_is_one() {
        let judged = coho_model::claims::judge(&coho_profile::Profile::default());
        let all = judged.iter().filter_map(|one| one.measure.as_deref());
        all.flat_map(|commands| commands.split("; ")).for_each(assert_parses);
    }
}
