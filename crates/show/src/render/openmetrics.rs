//! Figures as OpenMetrics, which Prometheus scrapes and node_exporter reads from files.

use std::io::{self, Write};

use crate::visible::{Style, visible};

/// A quantity as a metric, in a base unit as Prometheus wants it.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// `coho_memory_rate_bytes_per_second`.
    pub name: String,
    /// What a value in the quantity's own unit is multiplied by.
    pub scale: f64,
}

impl Metric {
    /// Of a quantity's key and unit.
    pub fn of(key: &str, unit: &str) -> Self {
        let (unit, scale) = match unit {
            "ns" => ("seconds".into(), 1e-9),
            "s" => ("seconds".into(), 1.0),
            "GHz" => ("hertz".into(), 1e9),
            unit => (unit.replace("/s", "_per_second"), 1.0),
        };
        let name = format!("coho_{key}{}{unit}", if unit.is_empty() { "" } else { "_" });
        let name = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
        Self { name: name.collect(), scale }
    }
}

/// Begins a metric of which the values follow.
///
/// # Errors
/// If it cannot be written.
pub fn begin(out: &mut impl Write, name: &str, help: &str) -> io::Result<()> {
    writeln!(out, "# HELP {name} {}\n# TYPE {name} gauge", escaped(help))
}

/// A value with its labels.
///
/// # Errors
/// If it cannot be written.
pub fn value<'a>(
    out: &mut impl Write,
    name: &str,
    labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    value: f64,
) -> io::Result<()> {
    let labels =
        labels.into_iter().map(|(label, text)| format!("{}=\"{}\"", label_name(label), escaped(text)));
    let labels = labels.collect::<Vec<_>>().join(",");
    let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
    writeln!(out, "{name}{labels} {value}")
}

/// Ends the metrics.
///
/// # Errors
/// If it cannot be written.
pub fn end(out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"# EOF\n")
}

fn label_name(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if plain.starts_with(|first: char| first.is_ascii_digit()) { format!("_{plain}") } else { plain }
}

fn escaped(text: &str) -> String {
    visible(text, Style::Data)
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
        .replace('\t', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_are_what_the_format_allows() {
        for (key, unit, name, scale) in [
            ("memory.rate", "bytes/s", "coho_memory_rate_bytes_per_second", 1.0),
            ("calls.CPI", "cycles", "coho_calls_cpi_cycles", 1.0),
            ("coherence.turn", "ns", "coho_coherence_turn_seconds", 1e-9),
            ("host.clock", "GHz", "coho_host_clock_hertz", 1e9),
            ("sync.ratio", "", "coho_sync_ratio", 1.0),
        ] {
            assert_eq!(Metric::of(key, unit), Metric { name: name.into(), scale });
        }
        let mut out = Vec::new();
        value(&mut out, "coho_x", [("machine", "a\"b\\c\n\u{1b}[2J"), ("4 k", "v")], 1.5).unwrap();
        value(&mut out, "coho_y", [], 2.0).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "coho_x{machine=\"a\\\"b\\\\c\\n\\\\u{1b}[2J\",_4_k=\"v\"} 1.5\ncoho_y 2\n"
        );
    }
}
