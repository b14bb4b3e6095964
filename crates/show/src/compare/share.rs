//! What a program's threads share before and after a change: the total, and line by line.

mod matched;

use coho_profile::{Estimate, Profile, Share, ShareKind, ShareLine, ShareTotal};
use serde::Serialize;

use super::{Cell, Comparison, Row, compare};
use crate::part::{Body, Depth, Missing, Part, PartList, Table, Text};
use crate::sections::share::{is_nothing, kind, percent};
use crate::{Subject, words};
use matched::{Pair, matched};

/// Two profiles' sections `share`, the first of which is before the change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShareComparison {
    /// The profiles' labels, which `figures` writes.
    #[serde(skip)]
    pub profiles: [String; 2],
    /// The programs with their arguments.
    pub commands: [String; 2],
    /// The CPUs that each ran on.
    pub cpus: [Vec<u32>; 2],
    /// The CPU time on all CPUs; `null` if one of the two has none.
    pub cpu_time: Option<Row>,
    /// The share of the CPU time that sharing costs.
    pub total: Change,
    /// The lines of either, the dearest before first; `null` if one of the two has none to compare.
    pub lines: Option<Vec<LineChange>>,
    /// Why lines are not known, in the order of the profiles.
    pub why_no_lines: [Option<String>; 2],
    /// Costs and CPU times as `coho compare` sets them side by side.
    #[serde(flatten)]
    figures: Comparison,
}

/// A cost before and after.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Change {
    /// Before the change; `null` if that is not known.
    pub before: Option<Estimate>,
    /// After it.
    pub after: Option<Estimate>,
    /// What was added, below 0 if it became less.
    pub difference: Option<Difference>,
    /// Whether the two differ beyond noise, as `coho compare` judges it; `null` if the figures cannot tell.
    pub beyond_noise: Option<bool>,
    /// Why a cost is not known, in the order of the profiles.
    pub why_not: [Option<String>; 2],
}

/// A difference of two shares.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// That of the medians.
    pub median: f64,
    /// Within which it lies if both shares lie in their intervals.
    pub interval: Option<(f64, f64)>,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It is not seen after the change.
    Disappeared,
    /// It was not seen before.
    Appeared,
    /// It costs less.
    Less,
    /// It costs more.
    More,
    /// No difference shows.
    NotSeparated,
    /// A cost is not known.
    Unknown,
}

/// A line before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineChange {
    /// What lies there, as the first profile that has the line calls it.
    pub object: String,
    /// What the second calls it, if it calls it otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_after: Option<String>,
    /// The object's size in each profile.
    pub bytes: [Option<u64>; 2],
    /// How it is shared in each profile; `null` where it is not seen.
    pub kind: [Option<ShareKind>; 2],
    /// What became of it.
    pub change: Fate,
    /// What it costs.
    #[serde(flatten)]
    pub cost: Change,
}

/// Why profiles cannot be compared so.
#[derive(Debug)]
pub struct NoShare {
    profile: String,
    published: bool,
}

impl std::fmt::Display for NoShare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let profile = &self.profile;
        match self.published {
            true => write!(
                f,
                "published:{profile} has no section `share`: no paper measured what a program shares"
            ),
            false => {
                write!(f, "{profile} has no section `share`; `coho share -o FILE -- PROGRAM` writes one")
            }
        }
    }
}

impl std::error::Error for NoShare {}

/// Compares what programs share before and after a change.
///
/// # Errors
/// [`NoShare`] if a profile has no section `share`.
pub fn compare_share(before: &Subject, after: &Subject) -> Result<ShareComparison, NoShare> {
    let both = [before, after];
    let of = |subject: &Subject| {
        let missing = || NoShare { profile: subject.label.clone(), published: subject.published };
        subject.profile.share.clone().ok_or_else(missing)
    };
    let [mut first, mut second] = [of(before)?, of(after)?];
    let commands = [&first, &second].map(|share| share.command.join(" "));
    // What is compared is the program, whatever its file is called then.
    second.command.clone_from(&first.command);
    let cpus = [&first, &second].map(|share| share.cpus.clone());
    let why_not = [&first, &second].map(|share| share.total.why_not.clone());
    let totals = [&first, &second].map(|share| share.total.share_of_cpu_time.clone());
    let why_no_lines = [&first, &second].map(|share| share.why_no_lines.clone());
    let lines = first.lines.take().zip(second.lines.take());
    // The total is one question, CPU times and lines are others: how many of them there are says nothing of it.
    let shares = [first, second];
    let figures = judged(both, shares.clone());
    let alone = |keep: fn(&ShareTotal) -> ShareTotal| {
        let of = |share: &Share| Share {
            command: share.command.clone(),
            total: keep(&share.total),
            ..Share::default()
        };
        judged(both, shares.each_ref().map(of))
    };
    let total = alone(|total| ShareTotal {
        share_of_cpu_time: total.share_of_cpu_time.clone(),
        ..ShareTotal::default()
    });
    let beyond_noise = cell(&total, ".cost").and_then(|cell| cell.beyond_noise);
    let times = alone(|total| ShareTotal { cpu_s: total.cpu_s.clone(), ..ShareTotal::default() });
    let cpu_time = times.figures.into_iter().next();
    let [total_before, total_after] = totals;
    let total = Change::new(total_before, total_after, why_not, beyond_noise);
    let lines = lines.map(|(first, second)| lines_of(both, shares, first, second));
    let profiles = both.map(|subject| subject.label.clone());
    Ok(ShareComparison { profiles, commands, cpus, cpu_time, total, lines, why_no_lines, figures })
}

/// Sections side by side.
fn judged(subjects: [&Subject; 2], shares: [Share; 2]) -> Comparison {
    let of = |subject: &Subject, share| {
        let profile = Profile { share: Some(share), ..Profile::default() };
        Subject { published: subject.published, ..Subject::new(&*subject.label, profile) }
    };
    let ([one, other], [first, second]) = (subjects, shares);
    compare(&[of(one, first), of(other, second)])
}

/// The second profile's figure of which the key ends so.
fn cell<'a>(comparison: &'a Comparison, ending: &str) -> Option<&'a Cell> {
    comparison.figures.iter().find(|row| row.id.ends_with(ending))?.values.get(1)?.as_ref()
}

fn lines_of(
    subjects: [&Subject; 2],
    mut shares: [Share; 2],
    first: Vec<ShareLine>,
    second: Vec<ShareLine>,
) -> Vec<LineChange> {
    let pairs = matched(&first, &second);
    // Under one name each, as those of lines may have changed, and several may have one.
    let named = |lines: &[ShareLine], of: fn(&Pair) -> Option<usize>| {
        let named = pairs.iter().enumerate().filter_map(|(at, pair)| {
            let line = lines[of(pair)?].clone();
            Some(ShareLine { object: at.to_string(), kind: ShareKind::Unknown, ..line })
        });
        Some(named.collect())
    };
    shares[0].lines = named(&first, |pair| pair.0);
    shares[1].lines = named(&second, |pair| pair.1);
    for share in &mut shares {
        share.total = Default::default();
        share.recording = None;
    }
    let judged = judged(subjects, shares);
    let changes = pairs.iter().enumerate().map(|(at, &(before, after))| {
        let (before, after) = (before.map(|at| &first[at]), after.map(|at| &second[at]));
        let ending = format!(".{at}.{}.cost", ShareKind::Unknown.name());
        let beyond_noise = cell(&judged, &ending).and_then(|cell| cell.beyond_noise);
        LineChange::new(before, after, beyond_noise)
    });
    changes.collect()
}

impl Change {
    fn new(
        before: Option<Estimate>,
        after: Option<Estimate>,
        why_not: [Option<String>; 2],
        beyond_noise: Option<bool>,
    ) -> Self {
        let difference = before.as_ref().zip(after.as_ref()).map(|(before, after)| Difference {
            median: after.median - before.median,
            interval: (before.has_interval() && after.has_interval())
                .then_some((after.low - before.high, after.high - before.low)),
        });
        Self { before, after, difference, beyond_noise, why_not }
    }
}

impl LineChange {
    fn new(before: Option<&ShareLine>, after: Option<&ShareLine>, beyond_noise: Option<bool>) -> Self {
        let of = |line: Option<&ShareLine>| line.and_then(|line| line.cost_share.clone());
        let why = |line: Option<&ShareLine>| line.and_then(|line| line.why_not.clone());
        let cost = Change::new(of(before), of(after), [why(before), why(after)], beyond_noise);
        let change = match (before, after, &cost.difference) {
            (_, None, _) => Fate::Disappeared,
            (None, _, _) => Fate::Appeared,
            (.., None) => Fate::Unknown,
            (.., Some(difference)) => match beyond_noise {
                None => Fate::Unknown,
                Some(false) => Fate::NotSeparated,
                Some(true) if difference.median < 0.0 => Fate::Less,
                Some(true) => Fate::More,
            },
        };
        let objects = [before, after].map(|line| line.map(|line| line.object.clone()));
        let object = objects.iter().flatten().next().cloned().unwrap_or_default();
        Self {
            object_after: objects[1].clone().filter(|after| *after != object),
            object,
            bytes: [before, after].map(|line| line.and_then(|line| line.bytes)),
            kind: [before, after].map(|line| line.map(|line| line.kind)),
            change,
            cost,
        }
    }

    /// Whether no cost of it shows on either side.
    fn is_cheap(&self) -> bool {
        let costs = [&self.cost.before, &self.cost.after];
        costs.iter().any(|cost| cost.is_some()) && costs.into_iter().flatten().all(is_nothing)
    }
}

impl Difference {
    /// `41 points less (33–62)`.
    fn words(&self) -> String {
        let points = |share: f64| format!("{:.0}", 100.0 * share.abs());
        let more = if self.median < 0.0 { "less" } else { "more" };
        let interval = self.interval.map(|(low, high)| match (low, high) {
            (low, high) if low < 0.0 && high > 0.0 => {
                format!(" (between {} less and {} more)", points(low), points(high))
            }
            (low, high) => {
                let [near, far] = if self.median < 0.0 { [high, low] } else { [low, high] };
                format!(" ({}–{})", points(near), points(far))
            }
        });
        format!("{} points {more}{}", points(self.median), interval.unwrap_or_default())
    }
}

impl ShareComparison {
    /// What there is to show of it.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        parts.summary(self.other_runs().map(Text::new));
        parts.summary(self.time().map(Text::new));
        parts.summary(Text::new(self.sentence()));
        let reasons = self.profiles.iter().zip(&self.why_no_lines);
        parts.summary(reasons.filter_map(|(profile, why)| {
            Some(Missing::new(format!("lines of {}", words::short(profile, 40)), why.as_ref()?))
        }));
        match self.lines.as_deref() {
            None => {}
            Some([]) => parts.summary(Text::new("Neither has a line that goes back and forth.")),
            Some(lines) => parts.summary(self.table(lines)),
        }
        let figures = self.figures.parts().into_iter().filter(|part| matches!(part.body, Body::Table(_)));
        parts.extend(figures.map(|part| Part { depth: Depth::Detail, ..part }));
        parts
    }

    /// How the runs differ by more than a change of the program.
    fn other_runs(&self) -> Option<String> {
        let [first, second] = self.profiles.each_ref().map(|profile| words::short(profile, 40));
        let [before, after] = self.commands.each_ref().map(|command| words::short(command, 60));
        let commands = (self.commands[0] != self.commands[1])
            .then(|| format!("{first} is of `{before}`, and {second} of `{after}`."));
        let [before, after] = self.cpus.each_ref().map(|cpus| words::cpus(cpus));
        let cpus =
            (before != after).then(|| format!("{first} ran on CPUs {before}, and {second} on {after}."));
        let told = words::joined([commands, cpus].into_iter().flatten(), " ");
        (!told.is_empty()).then_some(told)
    }

    /// How the CPU time differs, as far as it does.
    fn time(&self) -> Option<String> {
        let cell = self.cpu_time.as_ref()?.values.get(1)?.as_ref()?;
        let ((low, high), ratio) = cell.ratio_interval.zip(cell.ratio)?;
        let [first, second] = self.profiles.each_ref().map(|profile| words::short(profile, 40));
        (cell.beyond_noise == Some(true)).then(|| {
            let [ratio, low, high] = [ratio, low, high].map(words::times);
            format!("{second} takes {ratio} times ({low}–{high}) the CPU time of {first}.")
        })
    }

    fn sentence(&self) -> String {
        let [first, second] = self.profiles.each_ref().map(|profile| words::short(profile, 40));
        let total = &self.total;
        let (Some(before), Some(after), Some(difference)) = (&total.before, &total.after, &total.difference)
        else {
            if let (None, None, [Some(why), Some(other)]) = (&total.before, &total.after, &total.why_not)
                && why == other
            {
                let why = words::reason(why);
                return format!("What sharing costs cannot be compared. Neither profile has a total: {why}.");
            }
            let profiles = [(&first, &total.before), (&second, &total.after)].into_iter().zip(&total.why_not);
            let reasons = profiles.filter(|((_, cost), _)| cost.is_none()).map(|((profile, _), why)| {
                let why = why.as_deref().unwrap_or("the profile does not say why");
                format!("{profile} has no total: {}", words::reason(why))
            });
            return format!("What sharing costs cannot be compared. {}.", Vec::from_iter(reasons).join("; "));
        };
        let told = format!(
            "Sharing costs {} of the CPU time in {first} and {} in {second}: {}",
            percent(before),
            percent(after),
            difference.words()
        );
        match total.beyond_noise {
            Some(true) => format!("{told}."),
            Some(false) => {
                format!("{told}. That is no difference beyond noise: the intervals do not separate the two.")
            }
            None => format!("{told}. Too few rounds tell whether the two differ."),
        }
    }

    fn table(&self, lines: &[LineChange]) -> Table {
        let share = |cost: &Option<Estimate>, is_there: bool| match (cost, is_there) {
            (Some(cost), _) => percent(cost),
            (None, true) => "not known".into(),
            (None, false) => "–".into(),
        };
        let [first, second] = self.profiles.each_ref().map(|profile| words::short(profile, 20));
        let note = format!(
            "shares of the CPU time; disappeared: not seen in {second}; =: the intervals do not separate the two, with \
             an allowance for so many lines"
        );
        Table::of("share-changes", "Lines", lines)
            .text("line", |line| {
                let after = line.object_after.as_ref().map(|after| format!("then {after}"));
                words::joined([Some(line.object.clone()), after].into_iter().flatten(), ", ")
            })
            .text("sharing", |line| {
                let [before, after] = line.kind.map(|of| of.map(kind));
                match (before, after) {
                    (Some(before), Some(after)) if before != after => format!("{before}, then {after}"),
                    (before, after) => before.or(after).unwrap_or_default().to_owned(),
                }
            })
            .right(first, |line| share(&line.cost.before, line.kind[0].is_some()))
            .right(second, |line| share(&line.cost.after, line.kind[1].is_some()))
            .right("change", |line| {
                let points = |sign: &str| {
                    let difference = line.cost.difference.as_ref().map(|one| 100.0 * one.median);
                    difference.map_or_else(String::new, |points| format!("{sign} {:.0} points", points.abs()))
                };
                match line.change {
                    Fate::Disappeared => "disappeared".into(),
                    Fate::Appeared => "appeared".into(),
                    Fate::Less => points("less"),
                    Fate::More => points("more"),
                    Fate::NotSeparated => "=".into(),
                    Fate::Unknown => "not known".to_owned(),
                }
            })
            .detail_if(LineChange::is_cheap)
            .note(note)
            .done()
    }
}

#[cfg(test)]
mod tests;
