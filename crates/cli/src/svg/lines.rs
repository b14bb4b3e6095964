//! A chart of lines over a common axis.

use anyhow::anyhow;
use plotters::prelude::*;

/// Colours that readers with any colour vision tell apart (M. Okabe, K. Ito, "Color universal design", 2008).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// One line: its name and its points from left to right.
pub struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// Lines over one pair of axes.
pub struct Lines<'a> {
    pub title: &'a str,
    pub x_label: &'a str,
    pub y_label: &'a str,
    pub series: &'a [Series],
    /// Where the vertical axis begins.
    pub y_from: f64,
}

impl Lines<'_> {
    /// The chart, 720 by 480 CSS pixels.
    ///
    /// # Errors
    /// If there is no point to draw.
    pub fn to_svg(&self) -> anyhow::Result<String> {
        let points = || self.series.iter().flat_map(|series| series.points.iter().copied());
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
        };
        let (left, right) = ends(&mut points().map(|(x, _)| x));
        let (_, top) = ends(&mut points().map(|(_, y)| y));
        if !(left.is_finite() && right.is_finite() && top.is_finite()) {
            return Err(anyhow!("nothing to draw: no line has a point"));
        }
        // A single point still needs an axis of some length.
        let (x, y) = (left..right.max(left + 1.0), self.y_from..(1.05 * top).max(self.y_from + 1.0));
        let mut text = String::new();
        self.draw(&mut text, x, y).map_err(|error| anyhow!("cannot draw the chart: {error}"))?;
        Ok(text)
    }

    fn draw(
        &self,
        text: &mut String,
        x: std::ops::Range<f64>,
        y: std::ops::Range<f64>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::with_string(text, (720, 480)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(52)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(self.x_label)
            .y_desc(self.y_label)
            .axis_desc_style(("sans-serif", 14))
            .label_style(("sans-serif", 12))
            .light_line_style(TRANSPARENT)
            .draw()?;
        for (index, series) in self.series.iter().enumerate() {
            let style = COLOURS[index % COLOURS.len()].stroke_width(2);
            chart
                .draw_series(LineSeries::new(series.points.iter().copied(), style).point_size(3))?
                .label(&series.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .label_font(("sans-serif", 12))
            .draw()?;
        area.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(series: &[Series]) -> anyhow::Result<String> {
        Lines { title: "CPI", x_label: "rate", y_label: "CPI", series, y_from: 0.0 }.to_svg()
    }

    #[test]
    fn every_series_has_a_line_and_a_name() {
        let series = |name: &str, y: f64| Series { name: name.into(), points: vec![(0.0, 2.0), (2.0, y)] };
        let svg = lines(&[series("near", 3.0), series("far <1>", 15.0)]).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert!(svg.contains("near") && svg.contains("far &lt;1&gt;"), "{svg}");
        assert!(svg.matches("<polyline").count() >= 2, "{svg}");
    }

    #[test]
    fn one_point_is_drawn_and_none_is_an_error() {
        let one = Series { name: "one".into(), points: vec![(1.0, 2.0)] };
        assert!(lines(&[one]).unwrap().contains("one"));
        assert!(lines(&[]).is_err());
    }
}
