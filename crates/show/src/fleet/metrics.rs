//! Figures as metrics, for Prometheus.

use std::io::{self, Write};

use coho_model::fleet::{FACTS, Fleet, Latest, Report, Surveyed};

use crate::render::openmetrics::{Metric, begin, end, value};

/// The latest figures by which machines are told apart, and how odd each machine is, as OpenMetrics.
///
/// # Errors
/// If they cannot be written.
pub fn metrics(out: &mut impl Write, fleet: &Fleet, report: &Report) -> io::Result<()> {
    figures(out, fleet)?;
    let odd = "coho_odd_figures";
    begin(out, odd, "what is odd of a machine in its group")?;
    for (machine, all) in &report.odd {
        value(out, odd, [("machine", machine.as_str())], all.len() as f64)?;
    }
    end(out)
}

/// The same of one machine's survey, for node_exporter's textfile collector: Prometheus knows which machine it is. Beside the
/// figures stand what the machine is, what its findings warn of, and when it was surveyed.
///
/// # Errors
/// If they cannot be written.
pub fn metrics_of(out: &mut impl Write, mut survey: Surveyed) -> io::Result<()> {
    let about = "coho_survey_info";
    begin(out, about, "what the machine is, in the labels")?;
    let facts = FACTS.iter().zip(&survey.facts);
    let facts = facts.filter_map(|((name, _), fact)| Some((*name, fact.as_deref()?)));
    value(out, about, facts, 1.0)?;
    if let Some(seconds) = survey.seconds() {
        let date = "coho_survey_timestamp_seconds";
        begin(out, date, "when the machine was surveyed")?;
        value(out, date, [], seconds as f64)?;
    }
    let warning = "coho_warning";
    begin(out, warning, "what a finding warns of")?;
    for (finding, _) in &survey.warnings {
        value(out, warning, [("finding", *finding)], 1.0)?;
    }
    let mut fleet = Fleet::new();
    survey.machine.clear();
    // The first survey of a fleet is no other's copy.
    let _ = fleet.add(&mut survey);
    figures(out, &fleet)?;
    end(out)
}

/// The latest value of each figure of each machine; a machine without a name has no label.
fn figures(out: &mut impl Write, fleet: &Fleet) -> io::Result<()> {
    let mut figures = fleet.latest();
    figures.sort_by_key(|figure| figure.quantity.key);
    for of_key in figures.chunk_by(|one, other| one.quantity.key == other.quantity.key) {
        let quantity = of_key[0].quantity;
        let Metric { name, scale } = Metric::of(quantity.key, quantity.unit);
        begin(out, &name, quantity.label)?;
        for Latest { parameters, values, .. } in of_key {
            let parameters = parsed(parameters);
            for (machine, number) in values {
                let labels = parameters.iter().filter(|(name, _)| *name != "machine").copied();
                let machine = (!machine.is_empty()).then_some(("machine", *machine));
                value(out, &name, machine.into_iter().chain(labels), number * scale)?;
            }
        }
    }
    Ok(())
}

/// The names and values of `home=a claimed=L3`.
fn parsed(parameters: &str) -> Vec<(&str, &str)> {
    parameters.split(' ').filter_map(|one| one.split_once('=')).collect()
}
