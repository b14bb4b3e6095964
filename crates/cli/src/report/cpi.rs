//! What coherence costs a program: CPI = base + events per instruction × cycles of the class (Kawabe & Furuya, Figs. 4
//! and 6).

use coho_model::cpi::{Line, Unavailable, lines};
use coho_profile::published::kawabe_furuya;

use super::subject::Subject;
use super::{classes, scale, text};

/// One line of the chart and whose it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The profile.
    pub subject: String,
    /// The class by its papers' name.
    pub class: String,
    /// The model's line.
    pub line: Line,
    /// Whether the cycles are a paper's.
    pub published: bool,
}

/// The paper's CPI without coherence events.
pub fn base() -> f64 {
    kawabe_furuya::figures().method.base_cpi
}

/// A line for each class of a profile, with the paper's base and rates.
///
/// # Errors
/// If the profile has no coherence times or they cannot be given in cycles.
pub fn models(subject: &Subject) -> Result<Vec<Model>, Unavailable> {
    let paper = kawabe_furuya::figures().method;
    let lines = lines(&subject.profile, paper.base_cpi, &paper.cpi_rates_percent, None)?;
    let model = |line: Line| Model {
        subject: subject.label.clone(),
        class: classes::named(&line.class, subject),
        line,
        published: subject.published,
    };
    Ok(lines.into_iter().filter(|line| scale::is_time(line.cycles)).map(model).collect())
}

impl Model {
    /// `mine: on-die: 65.8 cycles`; a paper's machine by its own name.
    pub fn name(&self) -> String {
        let cycles = text::number(self.line.cycles);
        let subject = match self.published {
            true => self.subject.rsplit('/').next().unwrap_or(&self.subject).to_owned(),
            false => text::short(&self.subject, 16),
        };
        format!("{subject}: {}: {cycles} cycles", text::short(&self.class, 24))
    }
}
