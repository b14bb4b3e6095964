//! `coho fleet`: fleets that are made here, with faults that are known.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use coho_profile::{Network, Profile, SurveyedNode};
use coho_testing::{Capability, needs};

use crate::generate;
use crate::support::{json, output_in, succeeds_in};

/// Writes profiles of this many machines into `profiles`; returns which have a planted fault, and in which figure it shows.
fn make(folder: &Path, small: u64) -> BTreeMap<String, &'static str> {
    let profiles = folder.join("profiles");
    fs::create_dir_all(&profiles).unwrap();
    let mut planted = BTreeMap::new();
    for number in 0..small {
        let made = generate::machine(7, number, false);
        made.profile.write(&profiles.join(format!("{}.json", made.name))).unwrap();
        planted.extend(made.fault.map(|fault| (made.name, fault.shows_in())));
    }
    planted
}

/// What the report says for scripts.
fn report(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    json(&succeeds_in(folder, &[&["fleet", "report", "--json"], arguments].concat()))
}

fn outliers(report: &serde_json::Value) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::<String, Vec<String>>::new();
    for one in report["outliers"].as_array().unwrap() {
        let fields: Vec<&str> = one.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["machine", "figure", "value", "z", "why"]);
        let text = |field: &str| one[field].as_str().unwrap().to_owned();
        all.entry(text("machine")).or_default().push(text("figure"));
    }
    all
}

#[test]
fn of_five_hundred_machines_every_planted_fault_is_found_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let planted = make(folder.path(), 500);
    assert_eq!(planted.len(), 20);
    let report = report(folder.path(), &["profiles", "-o", "out"]);
    assert_eq!(report["machines"], 500);
    let fields: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["machines", "groups", "outliers", "skipped"]);
    let found = outliers(&report);
    for (machine, figure) in &planted {
        let odd = found.get(machine).unwrap_or_else(|| panic!("{machine}: {figure} was not found"));
        assert!(odd.iter().any(|one| one.starts_with(figure)), "{machine}: {odd:?}, not {figure}");
    }
    let falsely: Vec<&String> = found.keys().filter(|machine| !planted.contains_key(*machine)).collect();
    assert!(falsely.len() < 5, "of 480 healthy machines {falsely:?} were named");
    let groups = report["groups"].as_array().unwrap();
    assert_eq!(groups.iter().map(|group| group["machines"].as_u64().unwrap()).sum::<u64>(), 500);
    assert_eq!(groups[0]["facts"]["cpu"], "Example 8");

    let page = fs::read_to_string(folder.path().join("out/fleet.html")).unwrap();
    assert!(page.contains("What to look at first") && page.contains("<svg"));
    let metrics = fs::read_to_string(folder.path().join("out/fleet.prom")).unwrap();
    assert!(
        metrics.contains("coho_host_clock_hertz{machine=\"node00000\"} ") && metrics.ends_with("# EOF\n")
    );
    let lines = fs::read_to_string(folder.path().join("out/fleet.jsonl")).unwrap();
    let first = json(lines.lines().next().unwrap());
    assert_eq!((&first["key"], &first["unit"]), (&"host.clock".into(), &"GHz".into()));
    assert!(lines.lines().all(|line| line.starts_with("{\"machine\":\"node")));
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), 3);
    let file = |name: &str| folder.path().join("profiles").join(name);
    fs::write(file("broken.json"), "{\"schema\": \"coho-profile/1\", \"memory\": [").unwrap();
    fs::write(file("newer.json"), "{\"schema\": \"coho-profile/9\"}").unwrap();
    fs::write(file("notes.txt"), "no profile, and not asked for").unwrap();
    fs::copy(file("node00001.json"), file("copy.json")).unwrap();
    symlink(file("node00001.json"), file("link.json")).unwrap();
    fs::create_dir(file("rack")).unwrap();
    fs::copy(file("node00002.json"), file("rack/\u{1b}[2Jn.json")).unwrap();
    let mut future = generate::machine(7, 70, false).profile;
    future.host.as_mut().unwrap().date = Some("2999-01-01T00:00:00Z".into());
    future.write(&file("ahead.json")).unwrap();

    let done = output_in(folder.path(), &["fleet", "report", "profiles", "-o", "out", "--json"]);
    let errors = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success() && !errors.contains('\u{1b}'), "{errors}");
    let report = json(&String::from_utf8(done.stdout).unwrap());
    assert_eq!(report["machines"], 4, "{report}");
    let skipped: BTreeMap<&str, &str> = report["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["file"].as_str().unwrap().rsplit('/').next().unwrap(), one["why"].as_str().unwrap()))
        .collect();
    let expected = [
        ("broken.json", "EOF"),
        ("newer.json", "coho-profile/9"),
        ("link.json", "symbolic link"),
        ("node00001.json", "the same survey as profiles/copy.json"),
        ("\u{1b}[2Jn.json", "the same survey as profiles/node00002.json"),
    ];
    assert_eq!(skipped.len(), expected.len(), "{skipped:?}");
    for (name, why) in expected {
        assert!(skipped[name].contains(why), "{name}: {}", skipped[name]);
    }
    assert!(report["notes"][0]["text"].as_str().unwrap().contains("is yet to come"), "{report}");
    assert!(report["outliers"].as_array().unwrap().is_empty(), "four machines do not show what is usual");
    let page = fs::read_to_string(folder.path().join("out/fleet.html")).unwrap();
    assert!(page.contains("no group has the 16 machines") && !page.contains('\u{1b}'));
}

#[test]
fn hosts_that_a_job_left_without_a_profile_are_named() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), 2);
    let node = |host: &str| SurveyedNode { host: host.into(), file: format!("{host}.json"), ranks: vec![0] };
    let nodes = ["node00000", "node00001", "late\u{1b}[2J", "begun"].map(node).to_vec();
    let network = Some(Network { nodes, ..Network::default() });
    let profiles = folder.path().join("profiles");
    Profile { network, ..Profile::default() }.write(&profiles.join("manifest.json")).unwrap();
    fs::write(profiles.join("begun.json.unfinished"), "").unwrap();
    let done = output_in(folder.path(), &["fleet", "report", "profiles", "-o", "out", "--json"]);
    let errors = String::from_utf8(done.stderr).unwrap();
    assert!(errors.contains("missing begun") && !errors.contains('\u{1b}'), "{errors}");
    let report = json(&String::from_utf8(done.stdout).unwrap());
    assert_eq!((report["machines"].as_u64(), report["skipped"].as_array().unwrap().len()), (Some(2), 0));
    let missing: Vec<_> = report["missing"].as_array().unwrap().iter().collect();
    assert_eq!(missing.len(), 2, "{report}");
    assert_eq!(missing[0]["why"], "there is no profile of it");
    assert_eq!(
        (&missing[1]["host"], &missing[1]["why"]),
        (&"begun".into(), &"its survey was begun and did not end".into())
    );
    let page = fs::read_to_string(folder.path().join("out/fleet.html")).unwrap();
    assert!(page.contains("2 hosts missing") && page.contains("Hosts of a survey that have no profile"));
    succeeds_in(folder.path(), &["fleet", "learn", "profiles", "-o", "learned.json"]);
}

#[test]
fn files_that_are_no_reports_stay() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), 2);
    let out = folder.path().join("out");
    succeeds_in(folder.path(), &["fleet", "report", "profiles", "-o", "out"]);
    succeeds_in(folder.path(), &["fleet", "report", "profiles", "-o", "out"]);
    for name in ["fleet.jsonl", "fleet.parquet", "fleet.prom", "fleet.html"] {
        let ours = fs::read(out.join(name)).unwrap();
        fs::write(out.join(name), "somebody's").unwrap();
        let done = output_in(folder.path(), &["fleet", "report", "profiles", "-o", "out"]);
        let errors = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1), "{name}");
        assert!(errors.contains(name) && errors.contains("not of a report of coho's"), "{errors}");
        assert_eq!(fs::read(out.join(name)).unwrap(), b"somebody's");
        fs::write(out.join(name), ours).unwrap();
    }
    let left: BTreeSet<String> =
        fs::read_dir(&out).unwrap().map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

#[test]
fn a_baseline_shows_what_changed_and_a_date_leaves_out_what_is_older() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), 60);
    succeeds_in(folder.path(), &["fleet", "report", "profiles", "-o", "before"]);
    for number in 0..60 {
        let mut made = generate::machine(7, number, false);
        let host = made.profile.host.as_mut().unwrap();
        host.kernel = Some("Linux 6.18 #1".into());
        host.date = Some(format!("2026-11-25T10:00:{number:02}Z"));
        for call in &mut made.profile.calls.as_mut().unwrap().calls {
            let ns = call.ns.as_mut().unwrap();
            (ns.median, ns.low, ns.high) = (ns.median * 1.25, ns.low * 1.25, ns.high * 1.25);
        }
        let name = format!("profiles/{}-2026-11-25.json", made.name);
        made.profile.write(&folder.path().join(name)).unwrap();
    }
    let report = report(
        folder.path(),
        &["profiles", "-o", "after", "--baseline", "before/fleet.jsonl", "--since", "2026-11-25"],
    );
    assert_eq!((&report["machines"], report["skipped"].as_array().unwrap().len()), (&60.into(), 60));
    let changes = report["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 5, "{changes:?}");
    for change in changes {
        assert!(change["figure"].as_str().unwrap().starts_with("calls.time "), "{change}");
        assert_eq!((&change["more"], &change["together"]), (&60.into(), &true.into()), "{change}");
    }
    let wrong = output_in(
        folder.path(),
        &["fleet", "report", "profiles", "-o", "x", "--baseline", "after/fleet.html"],
    );
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("not a row of a fleet.jsonl"));
}

/// The page's questions in SQL.
fn questions() -> Vec<&'static str> {
    let page = include_str!("../../../../docs/fleet.md");
    let all: Vec<&str> = page.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(all.len(), 5);
    all
}

/// Asks both engines the same, and compares the answers row by row, numbers to nine digits.
const BOTH_ENGINES: &str = r#"
import json, math, sys, duckdb
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
spark = spark.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
def same(one, other):
    if isinstance(one, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return str(one) == str(other)
for sql in json.load(sys.stdin):
    sql = sql.strip().rstrip(";")
    ours = duckdb.sql(sql).fetchall()
    theirs = [tuple(row) for row in spark.sql(sql.replace("'fleet/fleet.parquet'", "parquet.`fleet/fleet.parquet`")).collect()]
    assert ours and len(ours) == len(theirs), (sql, len(ours), len(theirs))
    for one, other in zip(ours, theirs):
        assert all(map(same, one, other)), (sql, one, other)
"#;

#[test]
fn spark_gives_the_answers_that_duckdb_gives() {
    needs!(Capability::DuckDb, Capability::Spark);
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), 200);
    succeeds_in(folder.path(), &["fleet", "report", "profiles", "-o", "fleet"]);
    fs::write(folder.path().join("questions.json"), serde_json::to_string(&questions()).unwrap()).unwrap();
    let mut python = Command::new("python3");
    let python = python.args(["-c", BOTH_ENGINES]).current_dir(folder.path());
    let asked = fs::File::open(folder.path().join("questions.json")).unwrap();
    let done = python.stdin(asked).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn duckdb_answers_the_questions_of_the_page_from_both_tables() {
    needs!(Capability::DuckDb);
    let folder = tempfile::tempdir().unwrap();
    let planted = make(folder.path(), 200);
    succeeds_in(folder.path(), &["fleet", "report", "profiles", "-o", "fleet"]);
    let questions = questions();
    let program =
        "import duckdb, json, sys\nprint(json.dumps(duckdb.sql(sys.stdin.read()).fetchall(), default=str))";
    let ask = |sql: &str| {
        use std::io::Write;
        let mut python = Command::new("python3");
        let python = python.args(["-c", program]).current_dir(folder.path());
        let piped = std::process::Stdio::piped;
        let mut child = python.stdin(piped()).stdout(piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(sql.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{sql}");
        json(&String::from_utf8(done.stdout).unwrap())
    };
    for sql in &questions {
        let rows = ask(sql);
        assert!(!rows.as_array().unwrap().is_empty(), "{sql}");
        // Both tables hold the same, however the rows of equal values are ordered.
        if !sql.contains("LIMIT") {
            assert_eq!(rows, ask(&sql.replace(".parquet", ".jsonl")), "{sql}");
        }
    }
    let slow = ask(questions[1]);
    let slow: BTreeSet<&str> = slow.as_array().unwrap().iter().map(|row| row[0].as_str().unwrap()).collect();
    let expected: BTreeSet<&str> = planted
        .iter()
        .filter(|(_, figure)| **figure == "memory.rate")
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(slow, expected);
    assert!(!expected.is_empty());
}

#[test]
fn a_node_that_is_in_no_learned_group_cannot_be_told() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), 90);
    output_in(folder.path(), &["fleet", "learn", "profiles", "-o", "fleet.json"]);
    let done = output_in(folder.path(), &["check", "--against", "fleet.json"]);
    let line = String::from_utf8(done.stdout).unwrap();
    assert_eq!((done.status.code(), line.lines().count()), (Some(4), 1), "{line}");
    assert!(line.starts_with("cannot tell: no group was learned"), "{line}");
    let done = output_in(folder.path(), &["check", "--against", "fleet.json", "--json"]);
    let told = json(&String::from_utf8(done.stdout).unwrap());
    let fields: Vec<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!((fields, &told["verdict"]), (vec!["verdict", "figures", "seconds"], &"cannot tell".into()));

    fs::write(folder.path().join("newer.json"), "{\"schema\": \"coho-fleet/9\"}").unwrap();
    for (name, why) in [
        ("newer.json", "coho-fleet/9"),
        ("nowhere.json", "nowhere.json"),
        ("profiles/node00001.json", "coho-profile/1"),
    ] {
        let done = output_in(folder.path(), &["check", "--against", name]);
        let errors = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.code() == Some(1) && errors.contains(why), "{name}: {errors}");
    }
    let done = output_in(folder.path(), &["fleet", "learn", "fleet.json", "-o", "none.json"]);
    let errors = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.code() == Some(1) && errors.contains("no profile could be read"), "{errors}");
    assert!(!folder.path().join("none.json").exists());
}

/// What a profile may hold that is no survey's, and what may lie in a folder: each is named, nothing waits for a pipe, and the
/// tables stay such that others read them.
#[test]
fn hostile_profiles_are_named_and_break_no_table() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), 2);
    let file = |name: &str| folder.path().join("profiles").join(name);
    let host = |host: &str| format!("{{\"schema\": \"coho-profile/1\", \"host\": {{{host}}}}}");
    let nested = "[".repeat(200_000);
    for (name, text) in [
        ("deep.json", format!("{{\"schema\": \"coho-profile/1\", \"x\": {nested}")),
        ("nan.json", host("\"clock_ghz\": NaN")),
        ("endless.json", host("\"clock_ghz\": 1e999")),
        ("nothing.json", String::new()),
        ("list.json", "[]".into()),
        (
            "huge.json",
            host(
                "\"clock_ghz\": 1e308, \"cpu\": \"<script>\\u001b[31m\\u202e\", \"kernel\": \"a\\\"b\\\\c\\n\"",
            ),
        ),
        ("undated.json", host("\"clock_ghz\": 3, \"date\": \"9999-99-99T99:99:99Z\"")),
    ] {
        fs::write(file(name), text).unwrap();
    }
    fs::write(file("binary.json"), [0xff; 99]).unwrap();
    let mut many = generate::machine(7, 3, false).profile;
    for (i, call) in (0..).zip(std::iter::repeat_n(many.calls.as_ref().unwrap().calls[0].clone(), 30_000)) {
        let name = format!("call \"{i}\"\\<b>\u{1b}");
        many.calls.as_mut().unwrap().calls.push(coho_profile::Call { name, ..call });
    }
    many.write(&file("<img src=x>.json")).unwrap();
    fs::create_dir(file("folder.json")).unwrap();
    let pipe = Command::new("mkfifo").args([file("pipe.json"), folder.path().join("named.json")]).status();
    assert!(pipe.unwrap().success());

    let done =
        output_in(folder.path(), &["fleet", "report", "profiles", "named.json", "-o", "out", "--json"]);
    let errors = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success() && !errors.contains('\u{1b}'), "{errors}");
    let report = json(&String::from_utf8(done.stdout).unwrap());
    assert_eq!(report["machines"], 5, "{report}");
    let skipped = |name: &str| errors.lines().filter(|line| line.contains(name)).count();
    for name in ["deep", "nan", "endless", "nothing", "list", "binary", "pipe", "named"] {
        assert_eq!(skipped(&format!("{name}.json")), 1, "{name}: {errors}");
    }
    let lines = fs::read_to_string(folder.path().join("out/fleet.jsonl")).unwrap();
    let rows: Vec<serde_json::Value> = lines.lines().map(json).collect();
    assert!(rows.len() > 20_000 && rows.iter().all(|row| row["value"].is_number()), "{}", rows.len());
    assert!(rows.iter().all(|row| row["survey"] != "9999-99-99T99:99:99Z"), "no reader has such a day");
    for name in ["fleet.html", "fleet.prom", "fleet.jsonl"] {
        let text = fs::read_to_string(folder.path().join("out").join(name)).unwrap();
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{name}");
    }
    let page = fs::read_to_string(folder.path().join("out/fleet.html")).unwrap();
    assert!(!page.contains("<img src=x") && !page.contains("<script>\\u"));

    for command in [
        &["fleet", "learn", "named.json", "-o", "learned.json"][..],
        &["fleet", "report", "profiles", "-o", "out", "--baseline", "named.json"],
        &["fleet", "report", "profiles", "-o", "out", "--baseline", "profiles"],
    ] {
        let done = output_in(folder.path(), command);
        let errors = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.code() == Some(1) && errors.contains("not a regular file"), "{errors}");
    }
}

/// A report that cannot be written leaves the earlier one, and nothing beside it.
#[test]
fn a_full_disk_leaves_the_earlier_report() {
    needs!(Capability::Mounts);
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), 400);
    fs::create_dir(folder.path().join("small")).unwrap();
    let script = "mount -t tmpfs -o size=4m none small && mkdir small/out && cp -r profiles/node0000* small \
        && \"$0\" fleet report small -o small/out >/dev/null && sum small/out/* >before \
        && { \"$0\" fleet report profiles -o small/out >/dev/null 2>errors; echo $? >status; } \
        && sum small/out/* | cmp - before && ls -A small/out";
    let mut command = Command::new("unshare");
    let command = command.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_coho")]);
    let done = command.current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("status"), "1\n", "{}", read("errors"));
    assert!(read("errors").contains("No space left"), "{}", read("errors"));
    let left = String::from_utf8(done.stdout).unwrap();
    assert_eq!(left, "fleet.html\nfleet.jsonl\nfleet.parquet\nfleet.prom\n");
}

/// Learns from surveys that are made up around one of this machine. It must not be odd beside these, and must be beside a
/// hundred times as quick ones, or others of its facts; where something else has its CPUs, that must be said.
#[test]
fn a_node_is_odd_beside_other_machines_and_not_beside_itself() {
    let folder = tempfile::tempdir().unwrap();
    output_in(folder.path(), &["calls", "--quick", "--time-limit", "2s", "-o", "here.json"]);
    let here = Profile::read(&folder.path().join("here.json")).unwrap();
    let learned = |name: &str, times: f64, change: &dyn Fn(&mut Profile)| {
        let profiles = folder.path().join(name);
        fs::create_dir(&profiles).unwrap();
        for i in 0..20 {
            let mut one = here.clone();
            let calls = one.calls.as_mut().unwrap();
            calls.conditions.parameters.remove("waiting_for_cpus_percent");
            calls.conditions.steal_s = 0.0;
            for ns in calls.calls.iter_mut().filter_map(|call| call.ns.as_mut()) {
                let by = times * (0.93 + 0.007 * f64::from(i));
                (ns.median, ns.low, ns.high, ns.min) =
                    (ns.median * by, ns.low * by, ns.high * by, ns.min * by);
            }
            one.host.as_mut().unwrap().clock_ghz = None;
            change(&mut one);
            one.write(&profiles.join(format!("n{i}.json"))).unwrap();
        }
        let limits = format!("{name}.json");
        succeeds_in(folder.path(), &["fleet", "learn", name, "-o", &limits]);
        let _alone = coho_testing::alone();
        let done = output_in(folder.path(), &["check", "--against", &limits]);
        let line = String::from_utf8(done.stdout).unwrap();
        let is_busy = ["tasks waited", "the hypervisor took"].iter().any(|why| line.contains(why));
        (done.status.code(), line, is_busy)
    };
    let (status, line, _) = learned("itself", 1.0, &|_| ());
    assert!(matches!(status, Some(0 | 4)), "{line}");
    let (status, line, is_busy) = learned("quicker", 0.01, &|_| ());
    assert!(is_busy || (status == Some(3) && line.starts_with("odd: calls.time ")), "{line}");
    let (status, line, _) = learned("mitigated", 1.0, &|profile| {
        profile.host.as_mut().unwrap().mitigations.insert("meltdown".into(), "Mitigation: none".into());
    });
    assert!(status == Some(3) && line.starts_with("odd: mitigations is "), "{line}");
}
