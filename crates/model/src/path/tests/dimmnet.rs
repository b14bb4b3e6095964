//! The paper's NIC in a memory slot, and what is stated of it.

use coho_profile::published;

use super::ready::READINGS;
use super::*;

/// A reading by its name, with the paper's figures.
fn reading(name: &str) -> Path {
    let paper = published::paper("hamada-dimmnet").machine();
    let file = ready::file(&format!("dimmnet-{}", name.to_ascii_lowercase())).unwrap();
    file.resolve(Some(&paper)).unwrap()
}

/// H1 and H2 meet all that the paper states, H3 all but the two statements on PCI33.
#[test]
fn the_readings_meet_the_published_statements() {
    for name in READINGS {
        let statements: Vec<Met> = reading(name).stated().collect();
        assert_eq!(statements.len(), 13);
        let missed: Vec<_> = statements.iter().filter(|statement| !statement.met).collect();
        let figures: Vec<_> = missed.iter().map(|statement| statement.figure.as_str()).collect();
        assert_eq!(figures, if name == "H3" { vec!["4", "4"] } else { vec![] }, "{name}: {missed:?}");
    }
}

/// The ranges stated of Fig. 10 are those in the paper's own file.
#[test]
fn stated_ranges_are_the_published_ones() {
    let tables = ready::load("dimmnet-tables").unwrap();
    for row in ["simd-512", "plain-512"] {
        let printed = published::paper("hamada-dimmnet").row("fig-10", row);
        let stated = format!("spans = [{:.2}, {:.2}]", printed[0], printed[1]);
        assert!(tables.contains(&stated), "{row}: {stated}");
    }
}

/// The sizes from which a flush beats reads of write-combining memory do not depend on the DMA rates.
#[test]
fn flushes_pay_from_known_sizes_on() {
    let expected = [("simd", [6071.0, 76507.0]), ("plain", [3038.0, 38808.0])];
    for name in READINGS {
        let path = reading(name);
        for (instruction, sizes) in expected {
            let instruction = path.instructions.iter().position(|own| own == instruction).unwrap();
            let against_wc =
                path.crossovers.iter().filter(|crossover| crossover.name.contains("write-combining"));
            let found: Vec<f64> = against_wc
                .map(|crossover| match path.crossings(crossover, instruction)[..] {
                    [only] => {
                        // The sweep's next size is less than a step above the intersection itself.
                        let step = 2048f64.powf(1.0 / 3999.0);
                        assert!((1.0..=step * 1.001).contains(&(only.bytes / only.exact_bytes)), "{only:?}");
                        only.bytes
                    }
                    ref several => panic!("{}: {several:?}", crossover.name),
                })
                .collect();
            assert_eq!(found, sizes, "{name}");
        }
    }
}

/// Compared with Myrinet, the sizes depend on the reconstructed rates: thousands of bytes, SIMD.
#[test]
fn flushes_pay_against_myrinet_too() {
    for (name, expected) in [("H1", [16.4, 211.0]), ("H2", [27.9, 360.0]), ("H3", [20.5, 266.0])] {
        let path = reading(name);
        let against = path.crossovers.iter().filter(|crossover| crossover.name.contains("Myrinet"));
        for (crossover, expected) in against.zip(expected) {
            let found = path.crossings(crossover, 1)[0].exact_bytes / 1e3;
            let kib = found / 1.024;
            let near = |value: f64| (value / expected - 1.0).abs() < 0.005;
            assert!(near(found) || near(kib), "{name}, {}: {found} kB, {kib} KiB", crossover.name);
        }
    }
}

/// In Fig. 11 the gain of every size tends to 1 - 3/5 as the gap grows; elsewhere a gap on both sides reduces the
/// gain but never changes its sign.
#[test]
fn gaps_do_what_follows_from_their_number() {
    for name in READINGS {
        let path = reading(name);
        for figure in &path.figures {
            let points = path.points(figure);
            for family in points.chunks(path.gaps.len()) {
                let (first, last) = (family[0].gain, family[family.len() - 1].gain);
                if figure.name == "11" {
                    let bytes = family[0].bytes;
                    let [a, b] = path.ways(figure).map(|way| way.time(bytes, Ns(1e12), 0));
                    assert!((1.0 - a / b - 0.4).abs() < 1e-3, "{name}, {bytes}: {a:?} {b:?}");
                } else {
                    assert!(
                        first.signum() == last.signum() && first.abs() > last.abs(),
                        "{name}, {}",
                        figure.name
                    );
                }
            }
        }
    }
}

/// The readings were first worked out independently of this code.
#[test]
fn the_curves_are_those_worked_out_from_the_tables() {
    let mut points: Vec<Point> = Vec::new();
    for name in READINGS {
        let path = reading(name);
        points.extend(path.figures.iter().flat_map(|figure| path.points(figure)));
    }
    let text = std::fs::read_to_string(coho_testing::data("path/curves.csv")).unwrap();
    let mut rows = 0;
    for row in csv::Reader::from_reader(text.as_bytes()).records() {
        let row = row.unwrap();
        let number = |at: usize| row[at].parse::<f64>().unwrap();
        let instruction = if &row[5] == "SIMD" { "simd" } else { "plain" };
        let is = |point: &&Point| {
            point.reading.as_deref() == Some(&row[0])
                && point.figure == row[1]
                && point.bytes == number(4)
                && point.instruction == instruction
                && (point.gap_ns / Ns::of_s(number(6)) - 1.0).abs() < 1e-9
        };
        let point = points.iter().find(is).unwrap_or_else(|| panic!("no point for {row:?}"));
        assert!((point.gain - number(9)).abs() < 1e-3, "{row:?}: {}", point.gain);
        rows += 1;
    }
    assert_eq!((rows, points.len()), (882, 882));
}
