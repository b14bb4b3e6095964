//! `coho report`: what the page holds and what it never does. How it looks is tested by report_browser.rs.

mod report_profiles;

use std::path::Path;
use std::process::{Command, Output};

use coho_profile::{LineSpread, Profile};
use report_profiles as profiles;

fn coho(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_coho")).args(arguments).current_dir(folder).output().unwrap()
}

/// The page made of these profiles, in the order of their names.
fn page(named: &[(&str, Profile)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = vec!["report".to_owned(), "-o".into(), "page.html".into()];
    for (name, profile) in named {
        profile.write(&folder.path().join(name)).unwrap();
        arguments.push((*name).to_owned());
    }
    let output = coho(folder.path(), &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(folder.path().join("page.html")).unwrap()
}

/// The page less its scripts.
fn markup(page: &str) -> String {
    let (first, rest) = page.split_once("<script").unwrap_or((page, ""));
    let others =
        rest.split("<script").map(|part| part.split_once("</script>").map_or("", |(_, after)| after));
    first.to_owned() + &others.collect::<String>()
}

/// The tags of a page's markup.
fn tags(markup: &str) -> impl Iterator<Item = &str> {
    let parts = markup.split('<').skip(1);
    parts
        .filter(|part| part.starts_with(|c: char| c.is_ascii_alphabetic()))
        .map(|part| part.split('>').next().unwrap())
}

/// No part of a page that a browser shows or runs may come from elsewhere.
fn assert_stands_alone(page: &str) {
    let markup = markup(page);
    let mut links = 0;
    for tag in tags(&markup) {
        let name = tag.split_whitespace().next().unwrap();
        assert!(!["link", "iframe", "object", "embed", "img", "image", "base"].contains(&name), "{tag}");
        // Attributes without their values.
        let bare: String = tag.split('"').step_by(2).collect();
        assert!(![" src", " on"].iter().any(|found| bare.contains(found)), "{tag}");
        if let Some((_, link)) = tag.split_once("href=\"") {
            assert!(link.starts_with('#'), "a link leads out of the page: {tag}");
            links += 1;
        }
    }
    assert!(links > 10, "{links} links in the table of contents");
    let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    assert!(!style.contains("url(") && !style.contains("@import"));
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn two_cpus_get_every_section_and_the_published_figures() {
    let page = page(&[("mine.json", profiles::two_cpus())]);
    assert_stands_alone(&page);
    let sections = [
        "host",
        "topology",
        "pairs",
        "classes",
        "reads",
        "contention",
        "cpi",
        "stability",
        "audit",
        "counters",
        "calls",
        "barriers",
        "programs",
        "workloads",
        "choices",
        "idle",
        "missing",
        "method",
    ];
    for section in sections {
        assert!(page.contains(&format!("id=\"s0-{section}\"")), "{section}");
        assert!(page.contains(&format!("href=\"#s0-{section}\"")), "{section}");
    }
    let markup = markup(&page);
    // Paper 1's E5620: coherence time at one hop in cycles; X7560: at two hops.
    assert!(markup.contains("272.90") && markup.contains("660.67"));
    assert!(markup.contains("no cpufreq in this machine"));
    assert_eq!(page.matches("plotly.js v").count(), 1, "the drawing library is in the page once");
    assert!(!page.contains("MathJax.loader"), "no formula typesetter");
}

#[test]
fn the_spread_over_lines_stands_beside_the_pairs() {
    let mut profile = profiles::two_cpus();
    assert!(!page(&[("mine.json", profile.clone())]).contains("share of the variance"));
    let spread =
        LineSpread { count: 64, p10: 24.4, p50: 27.6, p90: 30.3, split_half: Some(0.97), share: Some(0.9) };
    profile.coherence.as_mut().unwrap().pairs[0].lines = Some(spread);
    let markup = markup(&page(&[("mine.json", profile)]));
    for text in ["share of the variance", "24.4–30.3 ns, r 0.97: lines differ", "90 %"] {
        assert!(markup.contains(text), "{text}");
    }
}

#[test]
fn a_page_of_512_cpus_stays_small() {
    let page = page(&[("large.json", profiles::many_cpus())]);
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
    assert_stands_alone(&page);
    // Every CPU stands in the drawing, once for a page's width and once for a phone's.
    assert_eq!(markup(&page).matches("class=\"pu\"").count(), 2 * 512);
}

#[test]
fn several_large_profiles_do_not_make_the_page_large() {
    let folder = tempfile::tempdir().unwrap();
    profiles::many_cpus_sparse().write(&folder.path().join("large.json")).unwrap();
    let output = coho(folder.path(), &["report", "large.json", "large.json", "-o", "page.html"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
    assert!(page.contains("Left out to keep the page small"));
}

#[test]
fn text_of_a_profile_stays_text() {
    let page = page(&[("hostile.json", profiles::hostile())]);
    assert_stands_alone(&page);
    let markup = markup(&page);
    assert!(!markup.contains("document.title='owned'</script>"));
    assert!(markup.contains("&lt;/script&gt;"));
    // The library, the data and our own script.
    assert_eq!(page.matches("</script").count() - library_mentions(&page), 3);
    let data = page.split("id=\"charts\">").nth(1).unwrap().split("</script>").next().unwrap();
    assert!(!data.contains('<'));
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let tick = data["s0-heat"]["heat"]["labels"][0].as_str().unwrap();
    assert!(tick.contains("&lt;/script&gt;"), "plotly reads tags in labels: {tick}");
}

/// Ends of scripts that the drawing library speaks of within its own text.
fn library_mentions(page: &str) -> usize {
    let start = page.find("plotly.js v").unwrap();
    let library = &page[start..page.find("id=\"charts\"").unwrap()];
    library.matches("</script").count() - 1
}

#[test]
fn what_the_topology_notes_is_shown() {
    let mut profile = profiles::two_cpus();
    let notes = &mut profile.topology.as_mut().unwrap().topology.notes;
    notes.push("one of the package's 20 CPUs was recorded <b>".into());
    let page = page(&[("mine.json", profile)]);
    assert!(markup(&page).contains("20 CPUs was recorded &lt;b&gt;"));
}

#[test]
fn an_empty_profile_says_what_is_missing() {
    let page = page(&[("empty.json", Profile::default())]);
    assert_stands_alone(&page);
    for text in
        ["Not recorded in this profile.", "Not measured: the profile has no pairs.", "section coherence"]
    {
        assert!(page.contains(text), "{text}");
    }
    assert!(!markup(&page).contains("NaN"));
}

#[test]
fn a_watched_pair_is_shown_with_its_values_and_jumps() {
    let page = page(&[("jumps.json", profiles::two_modes())]);
    for text in [
        "id=\"s0-time\"",
        "id=\"s0-time-modes\"",
        "(2 times)",
        "CPUs 0 and 1 share an L3",
        "hold only for a while",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn several_profiles_are_compared_first() {
    let page = page(&[("a.json", profiles::two_cpus()), ("b.json", profiles::two_modes())]);
    let comparison = page.find("id=\"comparison\"").unwrap();
    assert!(comparison < page.find("id=\"s0\"").unwrap());
    assert!(page.contains("id=\"s1-pairs\""));
}

#[test]
fn published_figures_stand_where_a_file_may() {
    let folder = tempfile::tempdir().unwrap();
    let output = coho(folder.path(), &["report", "published:kawabe-furuya", "-o", "p.html"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(folder.path().join("p.html")).unwrap();
    assert!(page.contains("kawabe-furuya/x7560"));
    let wrong = coho(folder.path(), &["report", "published:nobody"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(!folder.path().join("report.html").exists());
}

#[test]
fn charts_for_papers_have_fixed_names_and_escape_what_they_write() {
    let folder = tempfile::tempdir().unwrap();
    profiles::two_cpus().write(&folder.path().join("mine.json")).unwrap();
    profiles::hostile().write(&folder.path().join("hostile.json")).unwrap();
    let output = coho(folder.path(), &["report", "mine.json", "hostile.json", "--svg", "charts"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut names: Vec<String> = std::fs::read_dir(folder.path().join("charts"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = [
        "barriers-2.svg",
        "calls-extra-2.svg",
        "calls-libc-2.svg",
        "calls-syscalls-2.svg",
        "class-histogram-turn-2.svg",
        "cpi-2.svg",
        "cpi.svg",
        "daxpy-2.svg",
        "daxpy-model-2.svg",
        "fork-join-2.svg",
        "fork-join-parts-2.svg",
        "galerkin-2.svg",
        "heat-map-free-running.svg",
        "heat-map-turn-2.svg",
        "heat-map-turn.svg",
        "latency-by-size-2.svg",
        "latency-by-size.svg",
        "weather-2.svg",
    ];
    assert_eq!(names, expected);
    for name in names {
        let svg = std::fs::read_to_string(folder.path().join("charts").join(&name)).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{name}");
        assert!(!svg.contains("<script") && !svg.contains("<a "), "{name}");
        assert!(svg.matches("<text").count() > 3, "{name} has no axes");
    }
}
