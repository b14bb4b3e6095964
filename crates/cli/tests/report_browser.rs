//! The report in a browser: every chart is drawn, nothing complains, nothing is fetched.

mod report_profiles;

use std::path::Path;
use std::process::{Command, Output};

use coho_profile::{Profile, published};
use coho_testing::{Capability, needs};
use report_profiles as profiles;

/// Names a folder for pictures of the pages, for people to look at; none are taken without it.
const PICTURES: &str = "COHO_REPORT_PICTURES";

/// The first browser on the path that runs.
fn browser() -> &'static str {
    let runs = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    Capability::BROWSERS.into_iter().find(runs).unwrap()
}

struct Visit {
    /// The document as it is after its scripts ran.
    document: String,
    /// What the browser logged.
    log: String,
}

/// Runs the browser; once more if it ends without success, as it may where it starts too slowly for itself.
fn chromium(browser: &str, arguments: &[String]) -> (String, String) {
    let mut output = chromium_once(browser, arguments);
    if !output.status.success() {
        eprintln!("once more: {}", String::from_utf8_lossy(&output.stderr));
        output = chromium_once(browser, arguments);
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn chromium_once(browser: &str, arguments: &[String]) -> Output {
    let data = tempfile::tempdir().unwrap();
    Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--v=0", "--hide-scrollbars", "--virtual-time-budget=10000"])
        .arg(format!("--user-data-dir={}", data.path().display()))
        .args(arguments)
        .output()
        .unwrap()
}

/// Makes the report of a profile and opens it; takes pictures of it, as on a desk and on a phone, where they are asked for.
fn visit(name: &str, profile: &Profile, heights: (u32, u32)) -> Visit {
    let browser = browser();
    let folder = tempfile::tempdir().unwrap();
    profile.write(&folder.path().join("profile.json")).unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_coho"))
        .args(["report", "profile.json", "-o", "page.html"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let page = format!("file://{}", folder.path().join("page.html").display());
    let (document, log) =
        chromium(browser, &["--dump-dom".into(), "--window-size=1200,900".into(), page.clone()]);
    if let Some(pictures) = std::env::var_os(PICTURES) {
        take_pictures(browser, Path::new(&pictures), name, folder.path(), heights);
    }
    Visit { document, log }
}

/// Takes pictures of the page in a folder.
fn take_pictures(browser: &str, pictures: &Path, name: &str, folder: &Path, heights: (u32, u32)) {
    // A window is never narrower than 500 pixels; a frame in it may be as narrow as a phone.
    let style = format!("border:0;width:400px;height:{}px", heights.1);
    let frame = format!("<body style='margin:0'><iframe src='page.html' style='{style}'></iframe>");
    std::fs::write(folder.join("phone.html"), frame).unwrap();
    let views = [("desk", "page.html", 1200, heights.0), ("phone", "phone.html", 500, heights.1)];
    for (kind, page, width, height) in views {
        let picture = pictures.join(format!("{name}-{kind}.png"));
        let arguments = [
            format!("--screenshot={}", picture.display()),
            format!("--window-size={width},{height}"),
            format!("file://{}", folder.join(page).display()),
        ];
        chromium(browser, &arguments);
        assert!(picture.exists(), "no picture at {}", picture.display());
    }
}

/// The number in an attribute of the page's first element.
fn attribute(document: &str, name: &str) -> usize {
    let value = document.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap();
    value.parse().unwrap()
}

/// Every chart that the page promises is drawn and the browser has nothing to complain about.
fn assert_drawn(visit: &Visit) -> usize {
    let complaints: Vec<&str> = visit.log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    let charts = attribute(&visit.document, "data-charts");
    assert_eq!(attribute(&visit.document, "data-drawn"), charts);
    let places = visit.document.matches("<div class=\"plot js-plotly-plot\"").count();
    assert_eq!(places, charts);
    // A chart is one or more SVG elements of this class.
    let drawn = visit.document.split("<div class=\"plot js-plotly-plot\"").skip(1);
    assert!(drawn.into_iter().all(|place| place.contains("class=\"main-svg\"")));
    charts
}

/// Charts that stand in every page: evolution (Kawabe & Furuya) and Figs. 4 to 6 and 8 to 11 of Hamada et al.
const PAPERS: usize = 8;

#[test]
fn two_cpus_are_drawn() {
    needs!(Capability::Chromium);
    let visit = visit("two", &profiles::two_modes(), (6500, 8200));
    // Heat map, reads, CPI, timeline, modes.
    assert_eq!(assert_drawn(&visit), PAPERS + 5);
    // Each cell of the heat map shows its figure.
    let heat = visit.document.split("id=\"s0-heat\"").nth(1).unwrap();
    let heat = heat.split("<figcaption>").next().unwrap();
    assert!(heat.contains(">24.0<") || heat.contains(">23."), "no figure in the cells");
    assert!(heat.contains("heatmaplayer"));
}

#[test]
fn counters_and_calls_are_drawn() {
    needs!(Capability::Chromium);
    let timed = visit("calls-by-time", &profiles::calls::timed(), (11_000, 15_000));
    // Heat map, reads, CPI; system calls, libc, calls asked for, calibration; two curves by footprint.
    assert_eq!(assert_drawn(&timed), PAPERS + 9);
    let counted = visit("calls-counted", &profiles::calls::counted(), (10_000, 15_000));
    assert_eq!(assert_drawn(&counted), PAPERS + 6);
}

#[test]
fn barriers_and_programs_are_drawn() {
    needs!(Capability::Chromium);
    let sixteen = visit("sync-16", &profiles::sync::sixteen(), (15_000, 16_000));
    // Heat map, histogram of turn and of flags, reads, CPI; three of barriers, four of programs.
    assert_eq!(assert_drawn(&sixteen), PAPERS + 12);
    let two = visit("sync-2", &profiles::sync::two(), (12_000, 16_000));
    // Two CPUs have no histogram.
    assert_eq!(assert_drawn(&two), PAPERS + 10);
}

#[test]
fn workloads_are_drawn_beside_the_article() {
    needs!(Capability::Chromium);
    let machine = published::read("kimoto-bulldozer/c6-off-stock").unwrap().machines.remove(0);
    let mut profile = machine.1;
    profiles::acts::add(&mut profile);
    let visit = visit("workloads", &profile, (7500, 9500));
    // Contributions.
    assert_eq!(assert_drawn(&visit), PAPERS + 1);
    let chart = visit.document.split("id=\"contributions\"").nth(1).unwrap();
    assert!(chart.split("<figcaption>").next().unwrap().contains("pipe_context_switching"));
    for told in ["C6", "52.0", "there is no cpufreq", "([0-9]+) trips/s", "spread takes 5.60 times as long"] {
        assert!(visit.document.contains(told), "{told}");
    }
}

#[test]
fn five_hundred_and_twelve_cpus_are_drawn() {
    needs!(Capability::Chromium);
    let visit = visit("many", &profiles::many_cpus(), (6500, 9000));
    assert!(assert_drawn(&visit) >= 5);
    let heat = visit.document.split("id=\"s0-heat\"").nth(1).unwrap().split("<figcaption>").next().unwrap();
    // The map is one picture within the chart, its groups' bounds are lines over it.
    assert!(heat.contains("<image") && heat.matches("shape-group").count() >= 60);
}

#[test]
fn a_hostile_profile_does_nothing() {
    needs!(Capability::Chromium);
    let visit = visit("hostile", &profiles::hostile(), (7500, 9500));
    assert_drawn(&visit);
    assert!(visit.document.contains("<title>coho report: profile</title>"));
    // The drawing library speaks of links within its own text.
    let (before, scripts) = visit.document.split_once("<script").unwrap();
    let after: String = scripts.split("<script").filter_map(|part| part.split("</script>").nth(1)).collect();
    assert!(before.contains("main-svg"));
    for tag in ["<img", "<a href=\"http", "xlink:href=\"http", "onerror=\""] {
        assert!(!after.contains(tag) && !before.contains(tag), "{tag}");
    }
}

#[test]
fn an_empty_profile_draws_what_is_published() {
    needs!(Capability::Chromium);
    let visit = visit("empty", &Profile::default(), (7500, 9500));
    assert_eq!(assert_drawn(&visit), PAPERS);
}
