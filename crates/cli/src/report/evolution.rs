//! Coherence time on one die over generations of processors (Kawabe & Furuya, Fig. 7), with the profiles at hand.

use coho_profile::PairMethod;
use coho_profile::published::kawabe_furuya::Figures;

use super::classes;
use super::subject::Subject;

/// One processor's time.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// The processor or profile.
    pub name: String,
    /// Coherence time on one die, free-running, in ns.
    pub ns: f64,
    /// Whether a paper published it.
    pub published: bool,
}

/// The published processors, oldest first, then the measured profiles that have this figure.
pub fn of(subjects: &[Subject], paper: &Figures) -> Vec<Bar> {
    let mut bars: Vec<Bar> = paper
        .evolution_on_die
        .iter()
        .map(|(name, &ns)| Bar { name: name.clone(), ns, published: true })
        .collect();
    bars.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    bars.extend(subjects.iter().filter(|subject| !subject.published).filter_map(measured));
    bars
}

/// What one transfer of a line takes on the die of each measured profile that has a bar: strict alternation.
pub fn transfers(subjects: &[Subject]) -> Vec<(String, f64)> {
    let mean = |subject: &Subject| {
        let times = &subject.coherence()?.coherence_times;
        let turn = times.iter().find(|time| {
            time.method == PairMethod::Turn && classes::named(&time.class, subject) == "on-die"
        })?;
        measured(subject)?;
        Some((subject.label.clone(), turn.mean_ns)).filter(|(_, ns)| ns.is_finite())
    };
    subjects.iter().filter(|subject| !subject.published).filter_map(mean).collect()
}

fn measured(subject: &Subject) -> Option<Bar> {
    let times = &subject.coherence()?.coherence_times;
    let time = times.iter().find(|time| {
        time.method == PairMethod::FreeRunning && classes::named(&time.class, subject) == "on-die"
    })?;
    let finite = (0.0..1e6).contains(&time.coherence_ns);
    finite.then(|| Bar { name: subject.label.clone(), ns: time.coherence_ns, published: false })
}
