//! `coho report`: what the page holds and what it never does. How it looks is tested by report_browser.rs.

use coho_profile::{LineSpread, Profile};

use crate::report_profiles as profiles;
use crate::support::{assert_shows, fails_in, saved, succeeds_in};

/// The page made of these profiles, in the order of their names.
fn page(named: &[(&str, Profile)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = vec!["report", "-o", "page.html"];
    for (name, profile) in named {
        profile.write(&folder.path().join(name)).unwrap();
        arguments.push(name);
    }
    succeeds_in(folder.path(), &arguments);
    std::fs::read_to_string(folder.path().join("page.html")).unwrap()
}

/// The page less its script and style.
fn markup(page: &str) -> String {
    let (before, rest) = page.split_once("<style>").unwrap();
    let (_, rest) = rest.split_once("</style>").unwrap();
    let (rest, script) = rest.split_once("<script>").unwrap();
    let (_, after) = script.split_once("</script>").unwrap();
    [before, rest, after].concat()
}

/// The tags of a page's markup.
fn tags(markup: &str) -> impl Iterator<Item = &str> {
    let parts = markup.split('<').skip(1);
    parts
        .filter(|part| part.starts_with(|c: char| c.is_ascii_alphabetic()))
        .map(|part| part.split('>').next().unwrap())
}

/// What a link may lead to is one place.
fn assert_anchors_are_unique(page: &str) {
    let mut anchors: Vec<&str> =
        page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    anchors.sort_unstable();
    let twice: Vec<_> = anchors.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

/// No part of a page that a browser shows or runs may come from elsewhere.
fn assert_stands_alone(page: &str) {
    let markup = markup(page);
    for tag in tags(&markup) {
        let name = tag.split_whitespace().next().unwrap();
        assert!(!["link", "iframe", "object", "embed", "img", "base", "script"].contains(&name), "{tag}");
        // Attributes without their values.
        let bare: String = tag.split('"').step_by(2).collect();
        assert!(![" src", " on"].iter().any(|found| bare.contains(found)), "{tag}");
        if let Some((_, link)) = tag.split_once("href=\"") {
            assert!(link.starts_with('#') || link.starts_with("data:image/png;base64,"), "{tag}");
        }
    }
    let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    assert!(!style.contains("url(") && !style.contains("@import"));
    assert!(page.contains("default-src 'none'"));
}

fn attribute(page: &str, name: &str) -> usize {
    page.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
}

#[test]
fn two_cpus_get_findings_first_then_every_section_and_the_papers() {
    let page = page(&[("mine.json", profiles::two_cpus())]);
    assert_stands_alone(&page);
    let place = |what: &str| page.find(what).unwrap_or_else(|| panic!("no {what}"));
    let findings = place("id=\"findings\"");
    for section in ["coherence", "topology"] {
        assert!(findings < place(&format!("id=\"s0-{section}\"")), "{section}");
    }
    assert!(place("id=\"s0-coherence\"") < place("Beside the papers"));
    // Kawabe & Furuya's E5620: coherence time at one hop in cycles; X7560: at two hops.
    assert_shows(&page, &["272.90", "660.67", "no cpufreq in this machine", "Not measured: "]);
    assert!(!page.contains("plotly") && page.matches("<script").count() == 1);
}

#[test]
fn the_page_is_short_before_anything_is_unfolded() {
    let page = page(&[("mine.json", profiles::two_cpus())]);
    assert!(page.len() <= 1_500_000, "{} bytes", page.len());
    let (words, charts) = (attribute(&page, "data-words"), attribute(&page, "data-charts"));
    assert!((100..=3000).contains(&words), "{words} words");
    assert!((1..=12).contains(&charts), "{charts} charts");
}

#[test]
fn the_spread_over_lines_stands_beside_the_pairs() {
    let mut profile = profiles::two_cpus();
    assert!(!page(&[("mine.json", profile.clone())]).contains("share of the variance"));
    let spread =
        LineSpread { count: 64, p10: 24.4, p50: 27.6, p90: 30.3, split_half: Some(0.97), share: Some(0.9) };
    profile.coherence.as_mut().unwrap().pairs[0].lines = Some(spread);
    let page = page(&[("mine.json", profile)]);
    assert_shows(&page, &["share of the variance", "24.4–30.3 ns, r 0.97: lines differ", "90 %"]);
}

#[test]
fn a_page_of_512_cpus_stays_small() {
    let page = page(&[("large.json", profiles::many_cpus())]);
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    assert_stands_alone(&page);
    // Every CPU stands in the drawing, once for a page's width and once for a phone's.
    let own = markup(&page);
    let own = own.split("Beside the papers").next().unwrap();
    assert_eq!(own.matches("class=\"pu\"").count(), 2 * 512);
    assert!(page.contains("data-codes=\""), "the map is a picture that says its times");
}

#[test]
fn several_large_profiles_do_not_make_the_page_large() {
    let folder = tempfile::tempdir().unwrap();
    profiles::many_cpus_sparse().write(&folder.path().join("large.json")).unwrap();
    succeeds_in(folder.path(), &["report", "large.json", "large.json", "-o", "page.html"]);
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
}

#[test]
fn text_of_a_profile_stays_text() {
    let page = page(&[("hostile.json", profiles::hostile())]);
    assert_stands_alone(&page);
    let markup = markup(&page);
    assert!(!markup.contains("document.title='owned'</script>"));
    assert!(markup.contains("&lt;/script&gt;"));
    assert_eq!(page.matches("</script").count(), 1, "our own");
    assert!(!page.contains(['\u{1b}', '\u{202e}']));
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
fn an_empty_profile_names_in_one_line_what_is_missing() {
    let page = page(&[("empty.json", Profile::default())]);
    assert_stands_alone(&page);
    let markup = markup(&page);
    let missing: Vec<&str> = markup.split("<p").filter(|text| text.contains("Not measured: ")).collect();
    assert_eq!(missing.len(), 1, "{markup}");
    assert!(missing[0].contains("barriers") && missing[0].contains("memory"), "{}", missing[0]);
    assert!(!markup.contains("NaN") && attribute(&page, "data-charts") == 0, "{markup}");
}

#[test]
fn a_watched_pair_is_shown_with_its_values_and_jumps() {
    let page = page(&[("jumps.json", profiles::two_modes())]);
    assert_shows(&page, &["CPUs 0 and 1 share an L3", "unstable"]);
}

#[test]
fn several_profiles_are_compared_first() {
    let page = page(&[("a.json", profiles::sync::sixteen()), ("b.json", profiles::calls::timed())]);
    assert_anchors_are_unique(&markup(&page));
    let comparison = page.find("id=\"comparison\"").unwrap();
    assert!(comparison < page.find("id=\"s0\"").unwrap());
    assert!(page.contains("id=\"s1-coherence\""));
}

#[test]
fn published_figures_stand_where_a_file_may() {
    let folder = tempfile::tempdir().unwrap();
    succeeds_in(folder.path(), &["report", "published:kawabe-furuya", "-o", "p.html"]);
    let page = std::fs::read_to_string(folder.path().join("p.html")).unwrap();
    assert!(page.contains("kawabe-furuya/x7560"));
    fails_in(folder.path(), &["report", "published:nobody"], 1);
    assert!(!folder.path().join("report.html").exists());
}

#[test]
fn charts_for_papers_have_fixed_names_and_escape_what_they_write() {
    let folder = saved(&profiles::two_cpus());
    profiles::hostile().write(&folder.path().join("hostile.json")).unwrap();
    succeeds_in(folder.path(), &["report", "mine.json", "hostile.json", "--svg", "charts"]);
    let names = coho_testing::file_names(&folder.path().join("charts"));
    let expected = [
        "barriers-2.svg",
        "cpi.svg",
        "daxpy-2.svg",
        "galerkin-2.svg",
        "heat-map-free-running.svg",
        "heat-map-turn-2.svg",
        "heat-map-turn.svg",
        "latency-by-size-2.svg",
        "latency-by-size.svg",
        "topology.svg",
        "weather-2.svg",
    ];
    for name in expected {
        assert!(names.iter().any(|other| other == name), "{name}: {names:?}");
    }
    for name in names {
        let svg = std::fs::read_to_string(folder.path().join("charts").join(&name)).unwrap();
        assert!(svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>"), "{name}");
        assert!(!svg.contains("<script") && !svg.contains("<a "), "{name}");
        assert!(svg.contains("<text"), "{name} has no words");
        assert!(!svg.contains(['\u{1b}', '\u{202e}']), "{name}");
    }
}

#[test]
fn every_table_is_a_file_of_values() {
    let folder = saved(&profiles::two_cpus());
    profiles::hostile().write(&folder.path().join("hostile.json")).unwrap();
    succeeds_in(folder.path(), &["report", "mine.json", "hostile.json", "--csv", "tables"]);
    let names = coho_testing::file_names(&folder.path().join("tables"));
    assert!(names.iter().any(|name| name == "pairs.csv"), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("heat-map-turn")), "a matrix is a file, too: {names:?}");
    for name in names {
        let text = std::fs::read_to_string(folder.path().join("tables").join(&name)).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let columns = reader.headers().unwrap().len();
        assert!(columns > 0, "{name}");
        for row in reader.records() {
            assert_eq!(row.unwrap_or_else(|error| panic!("{name}: {error}")).len(), columns, "{name}");
        }
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{name}");
    }
}

/// Each chart at the head leads to a section that is there, which has the chart again with what its marks mean.
#[test]
fn charts_at_the_head_lead_to_their_sections() {
    let page = page(&[("mine.json", profiles::sync::sixteen())]);
    let (_, head) = page.split_once("<div class=\"glance\">").unwrap();
    let (head, rest) = head.split_once("</div><h2>").unwrap();
    let links: Vec<&str> =
        head.split("<a href=\"#").skip(1).map(|link| link.split('"').next().unwrap()).collect();
    assert_eq!(links.len(), head.matches("<svg class=\"chart\"").count());
    assert!(links.contains(&"s0-barriers"), "{links:?}");
    for link in links {
        assert!(rest.contains(&format!("id=\"{link}\"")), "{link}");
    }
    assert!(head.contains(">limit"), "barriers by number of threads beside the limit");
}
