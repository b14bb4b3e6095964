//! What Hamada et al. state about their path, and whether a reading of the model agrees.
//!
//! The paper's curves have not survived, but its statements about them have. Three readings of how its stages overlap
//! are kept as path files (`dimmnet-h1`, `-h2`, `-h3`) over the same published tables. The curves of the DMA rates
//! are lost too; those files take reconstructed rates as inputs.

use coho_profile::{Ns, Profile, published};

use super::{Error, Path, Point, ready};

/// The readings, by the suffix after `dimmnet-`; the first is the default.
pub const READINGS: [&str; 3] = ["H1", "H2", "H3"];

/// What the paper states about one figure, and whether the model agrees.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The figure that it is about.
    pub figure: &'static str,
    /// The statement.
    pub text: &'static str,
    /// Whether the reading agrees.
    pub met: bool,
}

/// A reading by its name, with the paper's figures.
///
/// # Errors
/// If there is none with that name.
pub fn reading(name: &str) -> Result<Path, Error> {
    let profile = machine();
    ready::file(&format!("dimmnet-{}", name.to_ascii_lowercase()))?.resolve(Some(&profile))
}

/// The paper's machine.
fn machine() -> Profile {
    published::paper("hamada-dimmnet").machine()
}

/// "A few per cent".
const FEW: std::ops::RangeInclusive<f64> = 0.01..=0.09;
/// How far the ends of a range may lie from the printed ones.
const READ_OFF: f64 = 0.0175;

/// The thirteen statements, in the order of the figures.
///
/// ```
/// use coho_model::path::dimmnet;
///
/// let statements = dimmnet::statements(&dimmnet::reading("H3")?);
/// let missed = statements.iter().filter(|statement| !statement.met);
/// assert_eq!(missed.map(|statement| statement.figure).collect::<Vec<_>>(), ["4", "4"]);
/// # Ok::<(), coho_model::path::Error>(())
/// ```
pub fn statements(path: &Path) -> Vec<Statement> {
    let paper = published::paper("hamada-dimmnet");
    let gains_of = |figure| Gains::of(path, figure);
    let [f4, f5, f6, f8, f9, f10, f11] = ["4", "5", "6", "8", "9", "10", "11"].map(gains_of);
    // "While the gap is below 1 us"; the sweep begins at 1 ns.
    let below = |gap: Ns| gap <= Ns::US;
    // Both ends of the range, within what can be read off a chart.
    let range = |gains: &Gains<'_>, instruction: &str| {
        let printed = paper.row("fig-10", &format!("{instruction}-512"));
        let (low, high) = (printed[0], printed[1]);
        let gains = gains.all(|point| gains.is(point, 512.0, instruction) && below(point.gap));
        let least = gains.iter().copied().fold(f64::INFINITY, f64::min);
        let most = gains.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (least - low).abs() <= READ_OFF && (most - high).abs() <= READ_OFF
    };
    let small = |point: &Point| point.bytes == 512.0;
    // The loss of Fig. 5 at the same point, compared with that of another figure.
    let shrinks = |bytes: f64| {
        f6.points.iter().zip(&f5.points).filter(|(six, _)| six.bytes == bytes).all(|(six, five)| {
            let shrunk = six.gain() > five.gain();
            shrunk && six.gain() < 0.0
        })
    };
    let each = |gains: &Gains<'_>, which: &dyn Fn(&Point) -> bool, holds: &dyn Fn(f64) -> bool| {
        let chosen = gains.all(which);
        !chosen.is_empty() && chosen.iter().all(|gain| holds(*gain))
    };
    let gains = |gain: f64| gain > 0.0;
    let loses = |gain: f64| gain < 0.0;
    let statement = |figure, text, met| Statement { figure, text, met };
    vec![
        statement(
            "4",
            "512 B with SIMD gains a few per cent while the gap is below 1 us",
            each(&f4, &|point| f4.is(point, 512.0, "simd") && below(point.gap), &|gain| FEW.contains(&gain)),
        ),
        statement(
            "4",
            "nothing else gains against PCI33",
            each(&f4, &|point| !f4.is(point, 512.0, "simd"), &|gain| gain <= 0.0),
        ),
        statement("5", "nothing gains against PCI66", each(&f5, &|_| true, &|gain| gain <= 0.0)),
        statement("6", "with write-backs the loss shrinks at 64 KiB", shrinks(65536.0)),
        statement("6", "with write-backs the loss shrinks at 1 MiB", shrinks(1_048_576.0)),
        statement(
            "8",
            "with a flush of 57 us 64 KiB gains",
            each(&f8, &|point| point.bytes == 65536.0, &gains),
        ),
        statement(
            "8",
            "with a flush of 57 us 1 MiB gains",
            each(&f8, &|point| point.bytes == 1_048_576.0, &gains),
        ),
        statement("8", "with a flush of 57 us 512 B loses", each(&f8, &small, &loses)),
        statement(
            "9",
            "with a flush of 720 us 512 B loses more",
            f9.points
                .iter()
                .zip(&f8.points)
                .filter(|(nine, _)| small(nine))
                .all(|(nine, eight)| nine.gain() < eight.gain()),
        ),
        statement(
            "10",
            "through PREFETCHNTA every size and instruction gains",
            each(&f10, &|_| true, &gains),
        ),
        statement("10", "512 B with SIMD gains 35 to 40 % between 1 ns and 1 us", range(&f10, "simd")),
        statement("10", "512 B plain gains 28 to 32 % between 1 ns and 1 us", range(&f10, "plain")),
        statement("11", "with 3 gaps against 5 there is a gain at every gap", each(&f11, &|_| true, &gains)),
    ]
}

/// A figure's points with what is needed to name them.
struct Gains<'a> {
    path: &'a Path,
    points: Vec<Point>,
}

impl<'a> Gains<'a> {
    fn of(path: &'a Path, figure: &str) -> Self {
        let matching = path.figures.iter().find(|other| other.name == figure);
        Self { path, points: matching.map_or_else(Vec::new, |figure| path.points(figure)) }
    }

    fn is(&self, point: &Point, bytes: f64, instruction: &str) -> bool {
        point.bytes == bytes && self.path.instructions[point.instruction] == instruction
    }

    fn all(&self, which: impl Fn(&Point) -> bool) -> Vec<f64> {
        self.points.iter().filter(|point| which(point)).map(Point::gain).collect()
    }
}
