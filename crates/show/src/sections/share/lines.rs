//! Each line that threads share: a picture of its bytes, what it costs, who touches it, and what would end that.

use coho_profile::{Estimate, Share, ShareCount, ShareKind, ShareLine, SharePart, SharePlacement};
use coho_topology::CpuSet;

use super::percent;
use crate::sections::prelude::*;

/// Bytes of a line.
const LINE: usize = 64;
/// Bytes between two gaps in the picture.
const WORD: usize = 8;
/// Blocks of the bar of a line that costs all of the CPU time.
const BAR: f64 = 30.0;
/// A line that costs less is left to those who want everything.
const LEAST: f64 = 0.01;
/// Lines of a summary.
const SHOWN: usize = 5;

/// Adds the lines, or why there are none.
pub(super) fn add(section: &mut Section, subject: &Subject, share: &Share) {
    if let Some(why) = &share.why_no_lines {
        section.summary(Missing::new("its lines", why));
    }
    let Some(lines) = &share.lines else { return };
    if lines.is_empty() {
        section.summary(Text::new(match share.exact {
            true => "No line went back and forth between its threads, as far as accesses were counted.",
            false => {
                "No line went back and forth between its threads, as far as samples of its instructions show."
            }
        }));
        return;
    }
    let is_cheap = |line: &&ShareLine| line.cost_share.as_ref().is_some_and(is_nothing);
    let cheap: Vec<&ShareLine> = lines.iter().filter(is_cheap).collect();
    for (at, line) in lines.iter().enumerate() {
        let depth = if at < SHOWN && !is_cheap(&line) { Depth::Summary } else { Depth::Detail };
        section.add(depth, of_line(at + 1, line));
    }
    section.summary((!cheap.is_empty()).then(|| Text::new(of_cheap(&cheap, lines.len()))));
    section.detail(table(subject, share, lines));
    section.summary(share.recording.as_ref().map(|recording| {
        let more = percent(recording);
        Text::new(match recording.low > 0.0 {
            true => format!("Looking for lines takes {more} more CPU time in runs of their own."),
            false => format!("Looking for lines takes less CPU time than runs differ by: {more}."),
        })
    }));
}

/// Whether a line's cost does not show, as its interval holds 0, or is below [`LEAST`].
pub(crate) fn is_nothing(cost: &Estimate) -> bool {
    cost.median < LEAST || cost.has_interval() && cost.low <= 0.0
}

/// Lines whose cost does not show, among so many in all.
fn of_cheap(cheap: &[&ShareLine], all: usize) -> String {
    let most = cheap.iter().filter_map(|line| line.cost_share.as_ref()).map(|cost| cost.high);
    let most = most.fold(0.0, f64::max);
    let more = if cheap.len() < all { " more" } else { "" };
    let (lines, go, cost, each) = match cheap.len() {
        1 => ("line", "goes", "costs", ""),
        _ => ("lines", "go", "cost", " each"),
    };
    format!(
        "{}{more} {lines} {go} back and forth but {cost} nothing that shows: at most {:.0} % of the CPU time{each}.",
        cheap.len(),
        100.0 * most
    )
}

fn of_line(number: usize, line: &ShareLine) -> Facts {
    let cost = line.cost_share.as_ref();
    let (told, bar) = match cost {
        None => ("cost not known".into(), String::new()),
        Some(cost) if is_nothing(cost) => {
            (format!("costs nothing that shows: {}", percent(cost)), String::new())
        }
        Some(cost) => {
            let blocks = (cost.median.clamp(0.0, 1.0) * BAR).round() as usize;
            (percent(cost), "█".repeat(blocks))
        }
    };
    let title = words::joined([format!("{number}  {} sharing  {told}", kind(line.kind)), bar], "  ");
    let size = line.bytes.map(|bytes| words::count(bytes, "byte"));
    let lines = (line.lines > 1).then(|| format!("{} such lines", line.lines));
    let threads = Some(words::count(line.threads, "thread"));
    let object = words::joined([Some(line.object.clone()), size, threads, lines].into_iter().flatten(), ", ");
    let parts = line.parts.iter().map(|part| (bytes(part), Some(by(part))));
    let fix = line.fix.as_ref().map(|fix| {
        let says = |_: &&Estimate| fix.proved || !cost.is_some_and(is_nothing);
        let saves = fix.saves.as_ref().filter(says).map(|saves| match fix.proved {
            true => format!("saves {}, measured by running it so", percent(saves)),
            false => format!("would save {}, predicted", percent(saves)),
        });
        words::joined([Some(fix.what.clone()), saves].into_iter().flatten(), ": ")
    });
    Facts::new("", title)
        .facts([("what".to_owned(), Some(object)), ("line".to_owned(), Some(picture(&line.parts)))])
        .facts(parts)
        .facts([
            ("at".to_owned(), (!line.at.is_empty()).then(|| line.at.join(", "))),
            ("fix".to_owned(), fix),
            ("place".to_owned(), line.placement.as_ref().map(|place| placed(place, line.threads))),
            ("cost".to_owned(), line.why_not.as_ref().map(|why| format!("not known: {why}"))),
        ])
}

/// What the line costs where threads are nearer to each other.
fn placed(place: &SharePlacement, threads: u64) -> String {
    let cpus = format!("CPUs {} (one {})", place.cpus.iter().copied().collect::<CpuSet>(), place.level);
    let Some(saves) = &place.saves else {
        return format!("put its {threads} threads on {cpus}: should cost less, not tried");
    };
    let what = match is_nothing(saves) {
        true => format!("saves nothing that shows: {}", percent(saves)),
        false => format!("saves {}", percent(saves)),
    };
    let times = place.times.as_ref().map(|times| format!("the program takes {} times as long", ratio(times)));
    let measured = Some("measured by running it so".to_owned());
    format!(
        "all threads on {cpus}: {}",
        words::joined([Some(what), times, measured].into_iter().flatten(), ", ")
    )
}

/// `0.82 (0.80–0.84)`.
fn ratio(times: &Estimate) -> String {
    match times.has_interval() {
        true => format!("{:.2} ({:.2}–{:.2})", times.median, times.low, times.high),
        false => format!("{:.2}", times.median),
    }
}

/// How threads share a line, before the word sharing.
pub(crate) fn kind(kind: ShareKind) -> &'static str {
    match kind {
        ShareKind::False => "false",
        ShareKind::True => "true",
        ShareKind::Mixed => "true and false",
        ShareKind::Unknown => "some",
    }
}

/// The line byte by byte: the thread that writes it, `*` if several do, `r` if it is only read.
fn picture(parts: &[SharePart]) -> String {
    let of = |byte: usize| {
        let holds = |part: &&SharePart| {
            (part.offset..part.offset.saturating_add(part.bytes)).contains(&(byte as u64))
        };
        match parts.iter().find(holds).map(|part| &part.written_by[..]) {
            None => '·',
            Some([]) => 'r',
            Some([thread]) => {
                u32::try_from(*thread).ok().and_then(|thread| char::from_digit(thread, 36)).unwrap_or('#')
            }
            Some(_) => '*',
        }
    };
    let words = (0..LINE / WORD).map(|word| (word * WORD..(word + 1) * WORD).map(of).collect::<String>());
    words.collect::<Vec<_>>().join(" ")
}

fn bytes(part: &SharePart) -> String {
    match part.bytes {
        0 | 1 => part.offset.to_string(),
        bytes => format!("{}–{}", part.offset, part.offset.saturating_add(bytes - 1)),
    }
}

fn by(part: &SharePart) -> String {
    let threads = |threads: &[u64]| {
        let noun = if threads.len() == 1 { "thread" } else { "threads" };
        let shown: Vec<String> = threads.iter().take(MOST_THREADS).map(u64::to_string).collect();
        let more = if threads.len() > MOST_THREADS { " …" } else { "" };
        format!("{noun} {}{more}", shown.join(", "))
    };
    let does = |verb: &str, by: &[u64]| (!by.is_empty()).then(|| format!("{verb} by {}", threads(by)));
    let only_read: Vec<u64> =
        part.read_by.iter().filter(|thread| !part.written_by.contains(thread)).copied().collect();
    let told = [does("written", &part.written_by), does("read", &only_read)].into_iter().flatten();
    let told = if part.counts.is_empty() { words::joined(told, ", ") } else { counted(&part.counts) };
    let name = if part.name.is_empty() { String::new() } else { format!("`{}`", part.name) };
    words::joined([name, told, part.at.clone()], ", ")
}

/// The changes to declarations that are predicted to end the sharing of lines, for `patch -p0` as far as they are
/// diffs; what is not part of one stands before it.
pub fn patches(share: &Share) -> String {
    let lines = share.lines.iter().flatten();
    let fixed = lines.filter_map(|line| Some((line, line.fix.as_ref()?.patch.as_ref()?)));
    let patches = fixed.map(|(line, patch)| {
        format!("Predicted to end {} sharing of {}, not tried:\n{patch}", kind(line.kind), line.object)
    });
    let patches = Vec::from_iter(patches).join("\n");
    if patches.is_empty() {
        return "No change to a declaration is known that would separate what different threads touch.\n"
            .into();
    }
    patches
}

/// Threads that are named of bytes.
const MOST_THREADS: usize = 8;

/// `thread 1 reads 10 and writes 1000 times`.
fn counted(counts: &[ShareCount]) -> String {
    let does = |verb: &str, times: u64| (times > 0).then(|| format!("{verb} {times}"));
    let of = |count: &ShareCount| {
        let both = [does("reads", count.reads), does("writes", count.writes)].into_iter().flatten();
        let last = if count.writes > 0 { count.writes } else { count.reads };
        let times = if last == 1 { "time" } else { "times" };
        format!("thread {} {} {times}", count.thread, words::joined(both, " and "))
    };
    let more = (counts.len() > MOST_THREADS).then(|| "…".to_owned());
    words::joined(counts.iter().take(MOST_THREADS).map(of).chain(more), ", ")
}

/// For `compare`: what each object's lines cost.
fn table<'a>(subject: &'a Subject, share: &'a Share, lines: &'a [ShareLine]) -> TableOf<&'a ShareLine> {
    Table::of("share-lines", "Lines by what they cost", lines)
        .text("object", |line| line.object.clone())
        .text("sharing", |line| kind(line.kind))
        .compared("share of the CPU time", "", "cost", |line| subject.figure_of(&line.cost_share))
        .keyed(|line| {
            let command = words::short(&share.command.join(" "), 80);
            let what = format!("{} sharing of {}", kind(line.kind), line.object);
            (
                format!("share-line.{command}.{}.{}", line.object, line.kind.name()),
                format!("{what} in {command}"),
            )
        })
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, Profile, ShareFix};

    use super::*;
    use crate::part::Body;

    fn line() -> ShareLine {
        let part = |offset, written_by: &[u64], read_by: &[u64]| SharePart {
            offset,
            bytes: 8,
            name: if offset == 0 { "stats.hits".into() } else { String::new() },
            written_by: written_by.into(),
            read_by: read_by.into(),
            at: "server.c:140".into(),
            ..SharePart::default()
        };
        ShareLine {
            object: "global stats".into(),
            bytes: Some(16),
            kind: ShareKind::False,
            threads: 3,
            lines: 1,
            at: vec!["server.c:140".into()],
            parts: vec![part(0, &[1], &[1]), part(8, &[], &[2]), part(16, &[2, 11], &[])],
            cost_share: Some(Estimate { low: 0.21, high: 0.27, n: 6, ..Estimate::exact(0.24) }),
            fix: Some(ShareFix {
                what: "align `b`".into(),
                saves: Some(Estimate::exact(0.24)),
                ..ShareFix::default()
            }),
            ..ShareLine::default()
        }
    }

    fn facts(lines: Vec<ShareLine>) -> Vec<(Depth, Facts)> {
        let share = Share { command: vec!["./a".into()], lines: Some(lines), ..Share::default() };
        let profile = Profile { share: Some(share), ..Profile::default() };
        let section = super::super::section(&Subject::new("mine", profile)).unwrap();
        let parts = section.parts.into_iter().filter_map(|part| match part.body {
            Body::Facts(facts) if facts.id.is_empty() => Some((part.depth, facts)),
            _ => None,
        });
        parts.collect()
    }

    #[test]
    fn a_line_is_drawn_by_who_writes_its_bytes() {
        let told = facts(vec![line()]);
        let (_, facts) = &told[0];
        assert_eq!(facts.title, "1  false sharing  24 % (21–27)  ███████");
        let of = |name: &str| &facts.facts.iter().find(|(known, _)| known == name).unwrap().1;
        let rest = ["········"; 5].join(" ");
        assert_eq!(*of("line"), format!("11111111 rrrrrrrr ******** {rest}"));
        assert_eq!(of("0–7"), "`stats.hits`, written by thread 1, server.c:140");
        assert_eq!(of("16–23"), "written by threads 2, 11, server.c:140");
        assert_eq!(of("what"), "global stats, 16 bytes, 3 threads");
        assert_eq!(of("fix"), "align `b`: would save 24 %, predicted");
    }

    #[test]
    fn a_placement_says_whether_it_was_tried_and_what_the_program_then_takes() {
        let estimate =
            |median| Estimate { low: median - 0.02, high: median + 0.02, n: 9, ..Estimate::exact(median) };
        let place = |saves: Option<f64>| SharePlacement {
            level: "L3".into(),
            cpus: vec![0, 2, 1],
            saves: saves.map(estimate),
            times: saves.map(|_| estimate(0.82)),
        };
        let of = |saves| {
            let told = facts(vec![ShareLine { placement: Some(place(saves)), ..line() }]);
            told[0].1.facts.iter().find(|(known, _)| known == "place").unwrap().1.clone()
        };
        let took = "the program takes 0.82 (0.80–0.84) times as long, measured by running it so";
        let on = "all threads on CPUs 0-2 (one L3): saves";
        assert_eq!(of(Some(0.3)), format!("{on} 30 % (28–32), {took}"));
        assert_eq!(of(Some(0.01)), format!("{on} nothing that shows: 1 % (-1 to 3), {took}"));
        let untried = "put its 3 threads on CPUs 0-2 (one L3): should cost less, not tried";
        assert_eq!(of(None), untried);
    }

    #[test]
    fn patches_are_told_as_predictions() {
        let mut line = line();
        let share = |line: &ShareLine| Share { lines: Some(vec![line.clone()]), ..Share::default() };
        assert!(patches(&share(&line)).starts_with("No change"));
        line.fix.as_mut().unwrap().patch = Some("--- a.c\n".into());
        assert_eq!(
            patches(&share(&line)),
            "Predicted to end false sharing of global stats, not tried:\n--- a.c\n"
        );
    }

    #[test]
    fn counts_stand_for_who_touches_bytes() {
        let mut line = line();
        let count = |thread, reads, writes| ShareCount { thread, reads, writes };
        line.parts[0].counts = vec![count(1, 10, 1000), count(2, 7, 0)];
        let told = facts(vec![line]);
        let of = |name: &str| &told[0].1.facts.iter().find(|(known, _)| known == name).unwrap().1;
        let counts = "thread 1 reads 10 and writes 1000 times, thread 2 reads 7 times";
        assert_eq!(*of("0–7"), format!("`stats.hits`, {counts}, server.c:140"));
    }

    #[test]
    fn a_line_that_costs_nothing_is_left_to_those_who_want_everything_and_a_cost_has_its_reason() {
        let of = |median, low, high| Some(Estimate { low, high, n: 6, ..Estimate::exact(median) });
        let cheap = ShareLine { cost_share: of(0.001, -0.01, 0.02), ..line() };
        let vague = ShareLine { cost_share: of(0.04, -0.02, 0.07), ..line() };
        let unknown = ShareLine { cost_share: None, why_not: Some("its threads spin".into()), ..line() };
        let told = facts(vec![line(), cheap.clone(), vague.clone(), unknown]);
        let depths: Vec<_> = told.iter().map(|(depth, _)| *depth).collect();
        assert_eq!(depths, [Depth::Summary, Depth::Detail, Depth::Detail, Depth::Summary]);
        assert_eq!(told[2].1.title, "3  false sharing  costs nothing that shows: 4 % (-2 to 7)");
        let fix = told[2].1.facts.iter().find(|(name, _)| name == "fix").unwrap();
        assert_eq!(fix.1, "align `b`", "nothing is promised");
        assert_eq!(told[3].1.facts.last().unwrap().1, "not known: its threads spin");
        assert_eq!(
            of_cheap(&[&cheap, &vague], 3),
            "2 more lines go back and forth but cost nothing that shows: at most 7 % of the CPU time each."
        );
        assert!(of_cheap(&[&cheap], 1).starts_with("1 line goes back and forth but costs nothing"));
    }
}
