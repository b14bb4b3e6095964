//! Cold and warm times of calls as an SVG for papers, on white ground.

use coho_profile::CacheState;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::calls::Bars;
use super::paper_svg::{FONT, colour, drawn};
use super::{classes, events, text};

/// Bars in groups by call, on a logarithmic axis; `None` if there is no time.
pub fn bars(title: &str, bars: &Bars) -> anyhow::Result<Option<String>> {
    let times = || bars.series.iter().flat_map(|series| series.ns.iter().flatten().copied());
    let (low, high) = times().fold((f64::INFINITY, 0.0f64), |(low, high), ns| (low.min(ns), high.max(ns)));
    if !low.is_finite() || high <= 0.0 {
        return Ok(None);
    }
    // From a whole power of ten, so that the least bar still has a height.
    let floor = 10f64.powf((low.log10() - 0.2).floor());
    let groups = bars.names.len() as f64;
    let width = 0.8 / bars.series.len() as f64;
    let chart = drawn((760, 420), |area| {
        let mut chart = ChartBuilder::on(area)
            .caption(text::short(title, 60), (FONT, 18))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..groups, (floor..high * 3.0).log_scale())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(0)
            .y_desc("time, ns (logarithmic)")
            .y_label_formatter(&|ns| text::number(*ns))
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 12))
            .axis_desc_style((FONT, 14))
            .draw()?;
        for (index, series) in bars.series.iter().enumerate() {
            let fill = match (series.state, series.published) {
                (CacheState::Cold, false) => colour(classes::colour_at(0)),
                (CacheState::Second, false) => colour(classes::colour_at(1)),
                (CacheState::Warm, false) => colour(classes::colour_at(2)),
                (CacheState::Cold, true) => RGBColor(140, 140, 140),
                (CacheState::Second | CacheState::Warm, true) => RGBColor(196, 196, 196),
            };
            let drawn = series.ns.iter().enumerate().filter_map(|(group, ns)| {
                let left = group as f64 + 0.1 + index as f64 * width;
                Some(Rectangle::new([(left, floor), (left + width, (*ns)?)], fill.filled()))
            });
            let whose = if series.published { ", published" } else { "" };
            chart
                .draw_series(drawn)?
                .label(format!("{}{whose}", events::state(series.state)))
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], fill.filled()));
        }
        let label = (FONT, 12).into_font().color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
        chart.draw_series(bars.names.iter().enumerate().map(|(group, name)| {
            EmptyElement::at((group as f64 + 0.5, floor))
                + Text::new(text::short(name, 16), (0, 7), label.clone())
        }))?;
        let mut labels = chart.configure_series_labels();
        labels.position(SeriesLabelPosition::UpperRight).background_style(WHITE.mix(0.85));
        labels.border_style(BLACK.mix(0.3)).label_font((FONT, 12)).draw()?;
        Ok(())
    })?;
    Ok(Some(chart))
}
