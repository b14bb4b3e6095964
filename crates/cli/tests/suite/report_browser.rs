//! The report in a browser: every chart is drawn, nothing complains, nothing is fetched.

use std::path::Path;
use std::process::{Command, Output};

use coho_profile::{Profile, published};
use coho_testing::{Capability, needs};

use crate::report_profiles as profiles;

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

/// The browser has nothing to complain about, and every chart has a size. Returns how many there are, folded ones too.
fn assert_drawn(visit: &Visit) -> usize {
    let complaints: Vec<&str> = visit.log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(attribute(&visit.document, "data-charts") <= 12);
    assert!(attribute(&visit.document, "data-words") <= 3000);
    visit.document.matches("<svg class=\"chart\"").count()
}

#[test]
fn two_cpus_are_drawn() {
    needs!(Capability::Chromium);
    let visit = visit("two", &profiles::two_modes(), (2500, 4200));
    assert!(assert_drawn(&visit) >= 3, "CPI, reads, timeline");
    // Each cell of the map shows its figure.
    let map = visit.document.split("<svg class=\"map\"").nth(1).unwrap().split("</svg>").next().unwrap();
    assert!(map.contains(">24.0 ns<") || map.contains(">23."), "no figure in the cells: {map}");
}

#[test]
fn counters_and_calls_are_drawn() {
    needs!(Capability::Chromium);
    assert!(assert_drawn(&visit("calls-by-time", &profiles::calls::timed(), (2500, 4200))) >= 4);
    assert_drawn(&visit("calls-counted", &profiles::calls::counted(), (2500, 4200)));
}

#[test]
fn barriers_and_programs_are_drawn() {
    needs!(Capability::Chromium);
    // Three of barriers, three of programs at least.
    assert!(assert_drawn(&visit("sync-16", &profiles::sync::sixteen(), (2500, 4200))) >= 6);
    assert!(assert_drawn(&visit("sync-2", &profiles::sync::two(), (2500, 4200))) >= 3);
}

#[test]
fn workloads_are_drawn_beside_the_article() {
    needs!(Capability::Chromium);
    let machine = published::read("kimoto-bulldozer/c6-off-stock").unwrap().machines.remove(0);
    let mut profile = machine.1;
    profiles::acts::add(&mut profile);
    let visit = visit("workloads", &profile, (2500, 4200));
    assert_drawn(&visit);
    for told in
        ["C6", ">52000<", "there is no cpufreq", "([0-9]+) trips/s", "spread takes 5.60 times as long"]
    {
        assert!(visit.document.contains(told), "{told}");
    }
}

#[test]
fn five_hundred_and_twelve_cpus_are_drawn() {
    needs!(Capability::Chromium);
    let visit = visit("many", &profiles::many_cpus(), (2500, 4200));
    assert_drawn(&visit);
    // The map is one picture, its groups' bounds are lines over it.
    let map = visit.document.split("<svg class=\"map\"").nth(1).unwrap().split("</svg>").next().unwrap();
    assert!(map.contains("<image") && map.contains("stroke=\"#fff\""));
}

#[test]
fn a_hostile_profile_does_nothing() {
    needs!(Capability::Chromium);
    let visit = visit("hostile", &profiles::hostile(), (2500, 4200));
    assert_drawn(&visit);
    assert!(visit.document.contains("<title>coho: "), "its text did not become a title");
    for tag in ["<img", "<a href=\"http", "xlink:href=\"http", "onerror=\""] {
        assert!(!visit.document.contains(tag), "{tag}");
    }
}

#[test]
fn an_empty_profile_draws_nothing_and_complains_of_nothing() {
    needs!(Capability::Chromium);
    assert_eq!(assert_drawn(&visit("empty", &Profile::default(), (900, 1200))), 0);
}
