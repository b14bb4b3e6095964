//! Paper 3's figures of barriers and of programs under them, as SVG files.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::charts::sync::{Series, Stack, Style};
use super::paper_svg::{FONT, colour, drawn};
use super::subject::Subject;
use super::{barriers, classes, programs, text};

/// Most names beside a chart.
const MOST: usize = 24;

/// File stems and charts: `fork-join` (Figs. 4-1 and 4-3), `fork-join-parts` (Fig. 4-2), `barriers`, `daxpy` (Fig. 4-5),
/// `daxpy-model` (Fig. 3-3), `galerkin` and `weather` (Figs. 4-6 and 4-7), of those that the profile has figures for.
pub fn charts(subject: &Subject) -> anyhow::Result<Vec<(String, String)>> {
    let Some(sync) = &subject.profile.sync else { return Ok(Vec::new()) };
    let mut charts = Vec::new();
    let mut add = |stem: &str, svg: Option<anyhow::Result<String>>| -> anyhow::Result<()> {
        if let Some(svg) = svg {
            charts.push((stem.to_owned(), svg?));
        }
        Ok(())
    };
    let ns = ["threads (logarithmic)", "ns (logarithmic)"];
    add("fork-join", lines("Fork and join by number of threads", ns, &barriers::fork_joins(subject, sync)))?;
    add("fork-join-parts", stacks("Fork and join apart", "ns", ["fork", "join"], &barriers::parts(sync)))?;
    add("barriers", lines("Barriers by number of threads", ns, &barriers::barrier_series(sync)))?;
    if let Some(daxpy) = sync.kernels.get("daxpy") {
        let axes = |y| ["loop length (logarithmic)", y];
        let rates = programs::rates(daxpy);
        add("daxpy", lines("Rate of a loop by its length", axes("GFLOP/s (logarithmic)"), &rates))?;
        let title = "Time of a loop, measured and by the model";
        add("daxpy-model", lines(title, axes("ns a loop (logarithmic)"), &programs::model(daxpy)))?;
    }
    for name in ["galerkin", "weather"] {
        if let Some(kernel) = sync.kernels.get(name) {
            let title = format!("{name}: computing and waiting");
            add(name, stacks(&title, "ms a run", ["computing", "waiting"], &programs::bars(kernel)))?;
        }
    }
    Ok(charts)
}

/// Lines over two logarithmic axes; `None` without a point.
fn lines(title: &str, [x_desc, y_desc]: [&str; 2], series: &[Series]) -> Option<anyhow::Result<String>> {
    let series = &series[..series.len().min(MOST)];
    let ends = |of: fn(&(f64, f64)) -> f64| {
        let values = series.iter().flat_map(|one| one.points.iter().map(of));
        let (low, high) = values.fold((f64::INFINITY, 0.0), |(low, high), v| (v.min(low), v.max(high)));
        (low.is_finite() && low > 0.0).then_some(low / 1.05..(high * 1.2).max(low * 1.5))
    };
    let (x, y) = (ends(|point| point.0)?, ends(|point| point.1)?);
    let height = 480.max(80 + 20 * series.len() as u32);
    Some(drawn((960, height), |area| {
        let mut chart = ChartBuilder::on(area)
            .caption(title, (FONT, 18))
            .margin(12)
            .margin_right(310)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(x.log_scale(), y.log_scale())?;
        let round = |value: &f64| text::number(*value);
        chart
            .configure_mesh()
            .x_desc(x_desc)
            .y_desc(y_desc)
            .x_label_formatter(&round)
            .y_label_formatter(&round)
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 12))
            .axis_desc_style((FONT, 14))
            .draw()?;
        for (row, one) in series.iter().enumerate() {
            let ink = colour(classes::colour_at(one.colour));
            let points = || one.points.iter().copied();
            let size = if one.style == Style::Line { 0 } else { 3 };
            match one.style {
                Style::Points => {}
                Style::Solid | Style::Line => {
                    chart.draw_series(LineSeries::new(points(), ink.stroke_width(2)))?;
                }
                Style::Dashed => {
                    chart.draw_series(DashedLineSeries::new(points(), 8, 5, ink.stroke_width(2)))?;
                }
                Style::Dotted => {
                    chart.draw_series(DashedLineSeries::new(points(), 2, 4, ink.stroke_width(2)))?;
                }
            }
            chart.draw_series(points().map(|point| Circle::new(point, size, ink.filled())))?;
            let y = 48 + 20 * row as i32;
            area.draw(&PathElement::new([(665, y), (690, y)], ink.stroke_width(2)))?;
            let label = (FONT, 12).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw_text(&text::short(&one.name, 40), &label, (697, y))?;
        }
        Ok(())
    }))
}

/// Rows of two parts each; `None` without a row.
fn stacks(title: &str, unit: &str, parts: [&str; 2], rows: &[Stack]) -> Option<anyhow::Result<String>> {
    let rows = &rows[..rows.len().min(MOST)];
    let most = rows.iter().map(|row| row.values.iter().sum::<f64>()).fold(0.0, f64::max);
    if !most.is_finite() || most <= 0.0 {
        return None;
    }
    let (left, width) = (260, 480.0);
    Some(drawn((960, 90 + 26 * rows.len() as u32), |area| {
        let black = (FONT, 12).into_font().color(&BLACK);
        let (to_left, to_right) =
            (black.pos(Pos::new(HPos::Left, VPos::Center)), black.pos(Pos::new(HPos::Right, VPos::Center)));
        area.draw_text(title, &(FONT, 18).into_font().color(&BLACK), (12, 12))?;
        let inks = [0, 1].map(|part| colour(classes::colour_at(part)));
        for (part, name) in parts.iter().enumerate() {
            let x = left + 160 * part as i32;
            area.draw(&Rectangle::new([(x, 46), (x + 12, 58)], inks[part].filled()))?;
            area.draw_text(&format!("{name}, {unit}"), &to_left, (x + 18, 52))?;
        }
        for (index, row) in rows.iter().enumerate() {
            let y = 72 + 26 * index as i32;
            area.draw_text(&text::short(&row.name, 38), &to_right, (left - 8, y + 9))?;
            let mut x = left;
            for (part, value) in row.values.iter().enumerate() {
                let end = x + (value / most * width) as i32;
                area.draw(&Rectangle::new([(x, y), (end, y + 18)], inks[part].filled()))?;
                x = end;
            }
            let told = row.values.map(text::number).join(" + ");
            area.draw_text(&told, &to_left, (x + 8, y + 9))?;
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_figures_are_drawn() {
        let paper = Subject::load("published:nakamura-fbs").unwrap().remove(0);
        let found = charts(&paper).unwrap();
        let svg = |stem: &str| &found.iter().find(|(name, _)| name == stem).unwrap().1;
        let fork_join = svg("fork-join");
        assert!(fork_join.contains("fbs") && fork_join.matches("<circle").count() > 2, "{fork_join}");
    }

    #[test]
    fn rows_are_as_long_as_their_parts() {
        let row = |name: &str, values| Stack { name: name.into(), values };
        let rows = [row("fbs", [300.0, 100.0]), row("lock", [600.0, 200.0])];
        let svg = stacks("title", "ns", ["fork", "join"], &rows).unwrap().unwrap();
        for part in ["width=\"180\"", "width=\"60\"", "width=\"360\"", "width=\"120\"", "600 + 200"] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert!(stacks("title", "ns", ["fork", "join"], &[]).is_none());
        assert!(lines("title", ["x", "y"], &[]).is_none());
    }
}
