//! Figures as OpenMetrics, which Prometheus scrapes and node_exporter reads from files.

use std::io::{self, Write};

use crate::visible::{Style, visible};

/// A name of a metric for a key and its unit: `coho_memory_rate_bytes_per_second`.
pub fn name(key: &str, unit: &str) -> String {
    let unit = match unit {
        "" => String::new(),
        unit => format!("_{}", unit.replace("/s", "_per_second")),
    };
    let name = format!("coho_{key}{unit}");
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
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
    writeln!(out, "{name}{{{}}} {value}", labels.collect::<Vec<_>>().join(","))
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
        assert_eq!(name("memory.rate", "bytes/s"), "coho_memory_rate_bytes_per_second");
        assert_eq!(name("calls.CPI", "cycles"), "coho_calls_cpi_cycles");
        let mut out = Vec::new();
        value(&mut out, "coho_x", [("machine", "a\"b\\c\n\u{1b}[2J"), ("4 k", "v")], 1.5).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "coho_x{machine=\"a\\\"b\\\\c\\n\\\\u{1b}[2J\",_4_k=\"v\"} 1.5\n"
        );
    }
}
