//! What the model makes of the same machine: every time beside its prediction, and which barrier wins where.

use coho_model::barrier::{Answer, Basis};

use crate::sections::predictions::barriers::{measured, winners};
use crate::sections::prelude::*;

pub(super) fn add(section: &mut Section, subject: &Subject) {
    match &subject.answers.barriers {
        // A paper need not have measured times between CPUs.
        None => {}
        Some(Err(_)) if subject.published => {}
        Some(Err(why)) => section.detail(Text::new(format!("Not predicted: {why}."))),
        Some(Ok(answer)) => {
            let checks = &answer.comparison.checks;
            section.detail(measured(checks));
            section.detail((!checks.is_empty()).then(|| Text::new(basis(answer))));
            section.detail(winners(&answer.winners));
        }
    }
}

/// Where predictions come from, and how far they are off.
fn basis(answer: &Answer) -> String {
    let mut text = format!(
        "Predicted: an event simulation of line transfers; latencies {}; an extra line {} ns, {}.",
        answer.latency,
        words::number(answer.extra_line.fixed.0),
        answer.extra_line.source
    );
    let predicted = answer.comparison.checks.iter().filter(|check| check.basis != Basis::Fit);
    let mut errors: Vec<f64> = predicted.map(|check| check.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    if let Some(middle) = errors.get(errors.len() / 2) {
        let n = words::count(errors.len(), "prediction");
        text += &format!(" Median size of the error: {:.0} % of {n}.", 100.0 * middle);
    }
    text
}
