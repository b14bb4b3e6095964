//! The walk over experiments, with experiments made for these tests.

use std::path::Path;
use std::time::Duration;

use coho_probe::experiment::{
    Entry, Observer, Outcome, Plan, Survey, Surveyed, Times, WalkError, single, survey,
};
use coho_probe::{Around, Course, Error, Experiment};
use coho_profile::{CounterTool, Counters, Host, Method, Profile};
use coho_topology::Topology;

/// What became of every experiment, in the order in which they began.
#[derive(Default)]
struct Seen(Vec<&'static str>);

impl Observer for Seen {
    fn begins(&mut self, section: &'static str) {
        self.0.push(section);
    }
}

/// A section with a row for each name.
fn rows(names: &[&str]) -> Counters {
    let row = |name: &&str| CounterTool { name: (*name).into(), ..CounterTool::default() };
    Counters { tools: names.iter().map(row).collect(), ..Counters::default() }
}

/// An experiment that measures by a function of its course, under a name of its own.
macro_rules! experiment {
    (
        $name:ident, $section:literal, $times:expr, $measure:expr
        $(, fn $other:ident $arguments:tt $(-> $returned:ty)? $body:block)*
    ) => {
        struct $name(Course);

        impl Experiment for $name {
            type Section = Counters;
            const SECTION: &'static str = $section;

            fn has_figures(section: &Counters) -> bool {
                !section.tools.is_empty()
            }

            fn measure(&self, _: &mut Around<'_>) -> Result<Counters, Error> {
                let measure: fn(&Course) -> Result<Counters, Error> = $measure;
                measure(&self.0)
            }

            $(fn $other $arguments $(-> $returned)? $body)*
        }

        impl Surveyed for $name {
            const TIMES: Times = $times;

            fn in_survey(_: bool, course: Course) -> Self {
                Self(course)
            }

            fn method(section: &mut Counters) -> &mut Method {
                &mut section.method
            }
        }
    };
}

const ADD: &[&str] = &["add"];

experiment!(Works, "works", Times::UNLIMITED, |_| Ok(rows(ADD)));
experiment!(Fails, "fails", Times::UNLIMITED, |_| Err(Error::NotAvailable("there is no PMU".into())));
experiment!(Nothing, "nothing", Times::UNLIMITED, |_| Ok(Counters::default()));
// Reports its time in milliseconds as a number of passes.
experiment!(Timed, "timed", Times::seconds(1, 5), |course| {
    let mut section = rows(ADD);
    section.method.passes = course.time_limit.unwrap_or_default().as_millis() as u64;
    section.method.parameters.insert("cpus".into(), course.cpus.clone().into());
    Ok(section)
});
experiment!(Slow, "slow", Times::UNLIMITED, |_| {
    std::thread::sleep(Duration::from_millis(30));
    Ok(rows(ADD))
});
// Keeps what an earlier run has measured and this one has not.
experiment!(
    Merges,
    "merges",
    Times::UNLIMITED,
    |_| Ok(rows(ADD)),
    fn merge(&self, measured: &mut Counters, earlier: &Counters) -> bool {
        let is_new = |row: &&CounterTool| measured.tools.iter().all(|mine| mine.name != row.name);
        let kept: Vec<_> = earlier.tools.iter().filter(is_new).cloned().collect();
        measured.tools.extend(kept);
        true
    }
);
// Knows that it is worth less than what is there.
experiment!(
    WorthLess,
    "worth less",
    Times::UNLIMITED,
    |_| Ok(rows(ADD)),
    fn merge(&self, _: &mut Counters, _: &Counters) -> bool {
        false
    }
);
experiment!(
    Follows,
    "follows",
    Times::UNLIMITED,
    |_| Ok(rows(ADD)),
    fn follows_up(&self) -> bool {
        true
    },
    fn follow_up(&self, section: &mut Counters, left: Option<Duration>, _: &mut Around<'_>) {
        section.method.description = format!("{:?}", left.is_some());
    }
);

fn walk(
    table: &[Entry],
    asked: &Survey,
    path: Option<&Path>,
) -> (Result<Outcome, WalkError>, Vec<&'static str>) {
    let mut seen = Seen::default();
    let host = Host { cpu: Some("a CPU".into()), ..Host::default() };
    let plan = Plan { host: &host, topology: &Topology::default(), mpi_rank: None, path };
    (survey(table, asked, plan, &mut seen), seen.0)
}

fn within(time: Duration) -> Survey {
    Survey { course: Course::default().within(time), ..Survey::default() }
}

/// A file with a section of an earlier run.
fn earlier(names: &[&str]) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.json");
    Profile { counters: Some(rows(names)), ..Profile::default() }.write(&path).unwrap();
    (folder, path)
}

fn names(outcome: &Outcome) -> Vec<&str> {
    let tools = outcome.profile.counters.iter().flat_map(|section| &section.tools);
    tools.map(|row| &row.name[..]).collect()
}

#[test]
fn every_experiment_has_its_turn_in_the_tables_order() {
    let table = [Entry::of::<Works>(), Entry::of::<Fails>(), Entry::of::<Nothing>()];
    let (outcome, seen) = walk(&table, &Survey::default(), None);
    assert_eq!(seen, ["works", "fails", "nothing"]);
    let outcome = outcome.unwrap();
    assert!(outcome.has_figures && outcome.incomplete.is_empty() && outcome.missing.is_empty());
    assert_eq!(outcome.profile.host.unwrap().cpu.as_deref(), Some("a CPU"));
    assert!(outcome.profile.topology.is_some());
}

#[test]
fn an_experiment_has_its_own_time_or_what_is_left_and_the_surveys_cpus() {
    let limit = |quick, time_limit| {
        let course = Course { time_limit, ..Course::on([3, 4]) };
        let (outcome, _) = walk(&[Entry::of::<Timed>()], &Survey { quick, only: None, course }, None);
        let method = outcome.unwrap().profile.counters.unwrap().method;
        assert_eq!(method.parameters["cpus"], serde_json::json!([3, 4]));
        method.passes
    };
    assert_eq!((limit(true, None), limit(false, None)), (1000, 5000));
    let left = limit(false, Some(Duration::from_secs(2)));
    assert!((1..=2000).contains(&left), "{left}");
}

#[test]
fn when_the_time_is_up_only_the_first_runs() {
    let table = [Entry::of::<Slow>(), Entry::of::<Works>(), Entry::of::<Fails>()];
    let (outcome, seen) = walk(&table, &within(Duration::from_millis(1)), None);
    assert_eq!(seen, ["slow"]);
    // All share a slot here, which the first one has filled.
    assert_eq!(outcome.unwrap().old, ["works", "fails"]);
}

#[test]
fn a_failure_is_a_reason_unless_cpus_were_asked_for_that_the_first_one_cannot_use() {
    let fails = [Entry::of::<Fails>()];
    let outcome = walk(&fails, &Survey::default(), None).0.unwrap();
    assert!(!outcome.has_figures);
    assert_eq!(outcome.profile.counters.unwrap().method.not_available["fails"], "there is no PMU");
    let asked = Survey { course: Course::on([7]), ..Survey::default() };
    assert!(matches!(walk(&fails, &asked, None).0, Err(WalkError::Experiment(Error::NotAvailable(_)))));
    let (folder, path) = earlier(&["store"]);
    let (before, absent) = (std::fs::read(&path).unwrap(), folder.path().join("none.json"));
    for path in [&path, &absent] {
        assert!(walk(&fails, &asked, Some(path)).0.is_err());
    }
    assert!(std::fs::read(&path).unwrap() == before && !absent.exists(), "its failure writes nothing");
    let later = [Entry::of::<Works>(), Entry::of::<Fails>()];
    assert_eq!(walk(&later, &asked, None).0.unwrap().old, ["fails"], "what the first measured stays");
}

#[test]
fn earlier_rows_survive_as_the_experiment_says() {
    let assert_survive = |entry: Entry, expected: &[&str], old: &[&str]| {
        let (_folder, path) = earlier(&["store"]);
        let outcome = walk(&[entry], &Survey::default(), Some(&path)).0.unwrap();
        assert_eq!(Profile::read(&path).unwrap(), outcome.profile);
        assert_eq!((names(&outcome), &outcome.old[..]), (expected.to_vec(), old));
    };
    assert_survive(Entry::of::<Works>(), ADD, &[]);
    assert_survive(Entry::of::<Merges>(), &["add", "store"], &[]);
    assert_survive(Entry::of::<WorthLess>(), &["store"], &["worth less"]);
    assert_survive(Entry::of::<Fails>(), &["store"], &["fails"]);
    assert_survive(Entry::of::<Nothing>(), &["store"], &["nothing"]);
}

#[test]
fn what_follows_up_is_added_and_knows_the_time_that_is_left() {
    let described = |asked: &Survey| {
        let outcome = walk(&[Entry::of::<Follows>()], asked, None).0.unwrap();
        outcome.profile.counters.unwrap().method.description
    };
    assert_eq!(described(&Survey::default()), "false");
    assert_eq!(described(&within(Duration::from_secs(60))), "true");
}

#[test]
fn one_experiment_alone_fails_as_such_and_returns_its_own_rows_only() {
    let host = Host::default();
    let topology = Topology::default();
    let plan = Plan { host: &host, topology: &topology, mpi_rank: None, path: None };
    assert!(single(&Fails(Course::default()), plan, &mut Seen::default()).is_err());
    let (_folder, path) = earlier(&["store"]);
    let plan = Plan { path: Some(&path), ..plan };
    let (measured, outcome) = single(&Merges(Course::default()), plan, &mut Seen::default()).unwrap();
    assert_eq!(measured, rows(ADD));
    assert_eq!(names(&outcome), ["add", "store"]);
    assert!(outcome.profile.topology.is_some() && outcome.has_figures);
    // One that finds nothing changes nothing.
    let before = std::fs::read(&path).unwrap();
    let (measured, outcome) = single(&Nothing(Course::default()), plan, &mut Seen::default()).unwrap();
    assert_eq!((measured, &outcome.old[..]), (Counters::default(), &["nothing"][..]));
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn a_profile_that_cannot_be_written_ends_the_walk_before_anything_is_measured() {
    let (outcome, seen) =
        walk(&[Entry::of::<Works>()], &Survey::default(), Some(Path::new("/nowhere/p.json")));
    assert!(matches!(outcome, Err(WalkError::Profile(_))) && seen.is_empty());
}
