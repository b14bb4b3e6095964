//! What coherence costs a program: CPI = base + events per instruction × cycles of the class (paper 1, Figs. 4 and 6).

use coho_profile::published::kawabe_furuya;

use super::subject::Subject;
use super::{classes, text};

/// One line of the chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The profile.
    pub subject: String,
    /// The class of pairs between which lines move.
    pub class: String,
    /// The method by which its cycles were found.
    pub method: String,
    /// CPI without coherence events.
    pub base: f64,
    /// Cycles of one event.
    pub cycles: f64,
    /// Whether the cycles are a paper's.
    pub published: bool,
}

/// Events per 100 instructions at which the paper draws.
pub fn rates_percent() -> Vec<f64> {
    kawabe_furuya::figures().method.cpi_rates_percent
}

impl Model {
    /// CPI where so many of 100 instructions cause an event.
    pub fn cpi_at_percent(&self, percent: f64) -> f64 {
        self.base + percent / 100.0 * self.cycles
    }

    /// `mine: on-die, turn: 65.8 cycles`; a paper's machine by its own name.
    pub fn name(&self) -> String {
        let Self { subject, class, method, cycles, .. } = self;
        let cycles = text::number(*cycles);
        if self.published {
            let machine = subject.rsplit('/').next().unwrap_or(subject);
            format!("{machine}: {class}: {cycles} cycles")
        } else {
            format!("{}: {class}, {method}: {cycles} cycles", text::short(subject, 16))
        }
    }
}

/// A line for each class whose coherence time is known in cycles, with the paper's base CPI.
pub fn models(subjects: &[&Subject]) -> Vec<Model> {
    let base = kawabe_furuya::figures().method.base_cpi;
    let of = |subject: &Subject| -> Vec<Model> {
        let packages = subject.profile.topology.as_ref().map_or(0, |section| section.topology.packages.len());
        let times =
            subject.coherence().map(|coherence| coherence.coherence_times.as_slice()).unwrap_or_default();
        let model = |time: &coho_profile::CoherenceTime| {
            let cycles = time.coherence_cycles.or(Some(time.coherence_ns * subject.clock_ghz()?))?;
            cycles.is_finite().then(|| Model {
                subject: subject.label.clone(),
                class: classes::named(&time.class, packages),
                method: classes::method_name(time.method).to_owned(),
                base,
                cycles,
                published: subject.published,
            })
        };
        let mut models: Vec<Model> = times.iter().filter_map(model).collect();
        models
            .sort_by(|a, b| (&a.method, classes::rank(&a.class)).cmp(&(&b.method, classes::rank(&b.class))));
        models
    };
    subjects.iter().flat_map(|subject| of(subject)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_event_in_fifty_instructions_costs_a_fiftieth_of_its_cycles() {
        let subject = Subject::load("published:kawabe-furuya/x7560").unwrap().remove(0);
        let models = models(&[&subject]);
        let far = models.iter().find(|model| model.class == "2-hop").unwrap();
        assert!((far.cpi_at_percent(2.0) - (2.0 + 660.67 / 50.0)).abs() < 1e-9);
    }
}
