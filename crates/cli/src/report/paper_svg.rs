//! The report's charts as SVG files for papers, on white ground.
//!
//! Names are fixed. Of the first profile: `heat-map-METHOD[-home-HOME].svg` for every method and home that was
//! measured, `class-histogram-METHOD.svg` for every method with more than a few pairs, `cpi.svg`,
//! `latency-by-size.svg`, `calls-SET.svg`, and those of barriers and programs ([`sync_svg`]). Of the n-th profile the same with `-n` before the dot.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coho_profile::published::kawabe_furuya;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::histogram::Histogram;
use super::matrix::{Matrix, View};
use super::reads::Line;
use super::subject::Subject;
use super::{calls, calls_svg, classes, cpi, events, histogram, matrix, reads, scale, sync_svg, text};
use crate::svg::lines::{Lines, Series};
use crate::visible::{Style, visible};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

pub(super) const FONT: &str = "sans-serif";
/// Shades of a map: cells of one shade side by side become one rectangle, so that 512 CPUs make no file of 20 MB.
const SHADES: f64 = 32.0;

/// Up to so many rows each cell shows its figure.
const FIGURED_ROWS: usize = 12;

/// Writes every chart that the profiles have figures for into a folder, which is made if need be; returns the files.
///
/// # Errors
/// If a file cannot be written.
pub fn write_all(subjects: &[Subject], folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut files = Vec::new();
    for (index, subject) in subjects.iter().enumerate() {
        for (stem, svg) in charts(subject)? {
            let number = if index > 0 { format!("-{}", index + 1) } else { String::new() };
            let file = folder.join(format!("{stem}{number}.svg"));
            coho_profile::write_atomic(&file, visible(&svg, Style::Plain).as_bytes())?;
            files.push(file);
        }
    }
    Ok(files)
}

/// File stems and charts of one profile.
fn charts(subject: &Subject) -> anyhow::Result<Vec<(String, String)>> {
    let mut charts = Vec::new();
    if let Some(matrix) = Matrix::of(subject) {
        for view in &matrix.views {
            charts.push((format!("heat-map-{}", view.file_stem()), heat_map(subject, &matrix, view)?));
        }
    }
    for histogram in histogram::of(subject).iter().filter(|histogram| histogram.is_telling()) {
        let stem = format!("class-histogram-{}", classes::method_name(histogram.method));
        charts.push((stem, class_histogram(histogram)?));
    }
    if let Ok(models) = cpi::models(subject) {
        charts.push(("cpi".to_owned(), cpi_chart(&models)?));
    }
    let lines = reads::of(subject);
    if !lines.is_empty() {
        charts.push(("latency-by-size".to_owned(), latency_by_size(&lines)?));
    }
    for (set, title) in events::SETS {
        if let Some(svg) = calls_svg::bars(title, &calls::Bars::of_subject(subject, set))? {
            charts.push((format!("calls-{set}"), svg));
        }
    }
    charts.extend(sync_svg::charts(subject)?);
    Ok(charts)
}

/// Draws on a white area of a size and returns the file's text.
pub(super) fn drawn(size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Drawn) -> anyhow::Result<String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let done = area.fill(&WHITE).map_err(Into::into).and_then(|()| draw(&area));
        done.and_then(|()| Ok(area.present()?)).map_err(|error| anyhow!("cannot draw a chart: {error}"))?;
    }
    Ok(text)
}

/// A class's colour for plotters.
pub(super) fn colour(hex: &str) -> RGBColor {
    let part =
        |at: usize| hex.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok()).unwrap_or(0x80);
    RGBColor(part(1), part(3), part(5))
}

fn heat_map(subject: &Subject, matrix: &Matrix, view: &View) -> anyhow::Result<String> {
    let n = matrix.labels.len() as i32;
    let cell = (560 / n).clamp(1, 120);
    let (left, top, side) = (110, 40, cell * n);
    let (width, height) = ((left + side.max(280) + 90) as u32, (top + side + 110) as u32);
    let Some((low, high)) = scale::robust_ends(view.ns.iter().copied()) else {
        return Err(anyhow!("nothing to draw: no pair was measured"));
    };
    let span = (high / low).ln();
    let shade = |ns: f64| -> i64 {
        if span < 1e-3 {
            0
        } else {
            ((ns / low).ln() / span * SHADES).floor().clamp(0.0, SHADES - 1.0) as i64
        }
    };
    let viridis = |shade: i64| ViridisRGB.get_color_normalized(shade as f64, 0.0, SHADES - 1.0);
    let order = &matrix.orders[0];
    drawn((width, height), |area| {
        let label = (FONT, 11).into_font().color(&BLACK);
        let title = format!("{}: {}, ns", text::short(&subject.label, 40), view.name());
        area.draw_text(&title, &(FONT, 14).into_font().color(&BLACK), (left, 14))?;
        for (row, &i) in order.cells.iter().enumerate() {
            let shades: Vec<Option<i64>> = order
                .cells
                .iter()
                .map(|&j| (i != j).then(|| view.ns[matrix::index(n as usize, i.min(j), i.max(j))]))
                .map(|ns| ns.filter(|ns| ns.is_finite()).map(shade))
                .collect();
            let mut column = 0;
            for run in shades.chunk_by(|a, b| a == b) {
                let (x, y) = (left + column * cell, top + row as i32 * cell);
                column += run.len() as i32;
                if let Some(shade) = run[0] {
                    let corners = [(x, y), (x + run.len() as i32 * cell, y + cell)];
                    area.draw(&Rectangle::new(corners, viridis(shade).filled()))?;
                }
            }
            if order.cells.len() <= FIGURED_ROWS {
                let figure = label.pos(Pos::new(HPos::Center, VPos::Center));
                for (column, shade) in shades.iter().enumerate() {
                    let Some(shade) = shade else { continue };
                    let j = order.cells[column];
                    let ns = view.ns[matrix::index(n as usize, i.min(j), i.max(j))];
                    // Viridis is dark at its beginning.
                    let ink = if (*shade as f64) < SHADES * 0.6 { &WHITE } else { &BLACK };
                    let at = |place: usize| place as i32 * cell + cell / 2;
                    area.draw_text(
                        &text::number(ns),
                        &figure.color(ink),
                        (left + at(column), top + at(row)),
                    )?;
                }
            }
        }
        for level in &order.levels {
            for &cut in &level.cuts {
                let at = cut as i32 * cell;
                let style = WHITE.stroke_width(if level.cuts.len() > 8 { 1 } else { 2 });
                area.draw(&PathElement::new([(left + at, top), (left + at, top + side)], style))?;
                area.draw(&PathElement::new([(left, top + at), (left + side, top + at)], style))?;
            }
        }
        area.draw(&Rectangle::new([(left, top), (left + side, top + side)], BLACK.stroke_width(1)))?;
        let step = order.cells.len().div_ceil(32);
        for (place, &cpus) in order.cells.iter().enumerate().step_by(step) {
            let name = text::short(&matrix.labels[cpus], 18);
            let middle = place as i32 * cell + cell / 2;
            let right = label.pos(Pos::new(HPos::Right, VPos::Center));
            area.draw_text(&name, &right, (left - 6, top + middle))?;
            let turned = (FONT, 11).into_font().transform(FontTransform::Rotate90).color(&BLACK);
            area.draw_text(
                &name,
                &turned.pos(Pos::new(HPos::Left, VPos::Center)),
                (left + middle, top + side + 6),
            )?;
        }
        colour_bar(area, (left + side + 20, top), side.min(400), (low, high), viridis)
    })
}

fn colour_bar(
    area: &Area<'_>,
    (x, y): (i32, i32),
    height: i32,
    (low, high): (f64, f64),
    viridis: impl Fn(i64) -> RGBColor,
) -> Drawn {
    let label = (FONT, 11).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    let step = f64::from(height) / SHADES;
    for shade in 0..SHADES as i64 {
        let bottom = y + height - (shade as f64 * step) as i32;
        let corners = [(x, bottom - step.ceil() as i32), (x + 14, bottom)];
        area.draw(&Rectangle::new(corners, viridis(shade).filled()))?;
    }
    for (position, text) in scale::log_ticks(low, high) {
        let share = if high > low { (position - low.log10()) / (high / low).log10() } else { 0.5 };
        let at = y + height - (share * f64::from(height)) as i32;
        area.draw_text(&text, &label, (x + 20, at))?;
    }
    Ok(())
}

fn class_histogram(histogram: &Histogram) -> anyhow::Result<String> {
    let (low, high) = (histogram.ends(0).0, histogram.ends(histogram.bins()).0);
    let log = histogram.lopsided();
    let most = (0..histogram.bins())
        .map(|bin| histogram.series.iter().map(|(_, counts)| counts[bin]).sum::<u32>())
        .max()
        .unwrap_or(1);
    drawn((720, 420), |area| {
        let mut builder = ChartBuilder::on(area);
        builder
            .caption(format!("Pair times, {}", classes::method_name(histogram.method)), (FONT, 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64);
        let x = low.log10()..high.log10();
        // Both kinds of axis are drawn the same way, but are different types.
        macro_rules! draw {
            ($y:expr, $floor:expr, $stacked:expr, $label:expr) => {{
                let mut chart = builder.build_cartesian_2d(x.clone(), $y)?;
                let mut mesh = chart.configure_mesh();
                mesh.disable_x_mesh().x_desc("time, ns (logarithmic)").y_desc($label);
                mesh.x_labels(0).y_label_formatter(&|count| format!("{count:.0}"));
                mesh.light_line_style(TRANSPARENT)
                    .label_style((FONT, 12))
                    .axis_desc_style((FONT, 14))
                    .draw()?;
                let mut below = vec![0u32; histogram.bins()];
                for (class, counts) in &histogram.series {
                    let fill = colour(classes::colour(class));
                    let bars = (0..counts.len()).filter(|&bin| counts[bin] > 0).map(|bin| {
                        let (left, right) = histogram.ends(bin);
                        let (left, right) = (left.log10(), right.log10());
                        let base = if $stacked { f64::from(below[bin]) } else { $floor };
                        let top = if $stacked { base } else { 0.0 } + f64::from(counts[bin]);
                        below[bin] += counts[bin];
                        Rectangle::new([(left, base), (right, top)], fill.mix(0.85).filled())
                    });
                    let name = text::short(class, 30);
                    let legend = move |(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], fill.filled());
                    chart.draw_series(bars)?.label(name).legend(legend);
                }
                // Round ticks also where all pairs lie within a few per cent: a logarithmic axis of plotters has none.
                chart.draw_series(scale::log_ticks(low, high).into_iter().map(|(position, text)| {
                    let label = (FONT, 12).into_font().color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
                    EmptyElement::at((position, $floor))
                        + PathElement::new([(0, 0), (0, 5)], BLACK)
                        + Text::new(text, (0, 7), label)
                }))?;
                let mut labels = chart.configure_series_labels();
                labels.position(SeriesLabelPosition::UpperLeft).background_style(WHITE.mix(0.85));
                labels.border_style(BLACK.mix(0.3)).label_font((FONT, 12)).draw()?;
            }};
        }
        if log {
            draw!((0.5..f64::from(most) * 1.5).log_scale(), 0.5, false, "pairs (logarithmic)");
        } else {
            draw!(0.0..f64::from(most) * 1.08, 0.0, true, "pairs");
        }
        Ok(())
    })
}

fn cpi_chart(models: &[cpi::Model]) -> anyhow::Result<String> {
    let papers = Subject::of_publication(kawabe_furuya::figures().publication());
    let published = papers.iter().filter_map(|paper| cpi::models(paper).ok()).flatten();
    let others = published.filter(|paper| models.iter().all(|mine| mine.subject != paper.subject));
    let series: Vec<Series> = models
        .iter()
        .cloned()
        .chain(others)
        .map(|model| Series {
            name: model.name(),
            points: model.line.points.iter().map(|point| (point.rate_percent, point.cpi)).collect(),
        })
        .collect();
    Lines {
        title: "Cycles per instruction under coherence events",
        x_label: "instructions that cause a coherence event, %",
        y_label: "cycles per instruction",
        series: &series,
        y_from: 0.0,
    }
    .to_svg()
}

fn latency_by_size(lines: &[Line]) -> anyhow::Result<String> {
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let low = points().map(|point| point.0).min().unwrap_or(1).max(1);
    let high = points().map(|point| point.0).max().unwrap_or(1).max(low * 2);
    let molka = kawabe_furuya::figures().molka_2009;
    let references: Vec<f64> = std::iter::once(molka.on_die).chain(molka.hop1).collect();
    let top = points().map(|point| point.1).chain(references.iter().copied()).fold(0.0, f64::max) * 1.08;
    drawn((900, 480), |area| {
        let mut chart = ChartBuilder::on(area)
            .caption("Reads of lines in a known state", (FONT, 18))
            .margin(12)
            .margin_right(250)
            .x_label_area_size(44)
            .y_label_area_size(52)
            .build_cartesian_2d((low as f64..high as f64).log_scale().base(2.0), 0.0..top)?;
        chart
            .configure_mesh()
            .x_desc("buffer size (logarithmic)")
            .y_desc("time per load, ns")
            .x_label_formatter(&|size| text::bytes(*size as u64))
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 12))
            .axis_desc_style((FONT, 14))
            .draw()?;
        // Names stand beside the chart: there are too many to lie over it.
        let name = |row: usize, text: &str, style: ShapeStyle| -> Drawn {
            let y = 48 + 20 * row as i32;
            area.draw(&PathElement::new([(665, y), (690, y)], style))?;
            let label = (FONT, 12).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
            Ok(area.draw_text(text, &label, (697, y))?)
        };
        for (row, line) in lines.iter().enumerate() {
            let style = colour(classes::colour_at(row)).stroke_width(2);
            let points = line.points.iter().map(|point| (point.0 as f64, point.1));
            chart.draw_series(LineSeries::new(points, style).point_size(3))?;
            name(row, &line.name(), style)?;
        }
        for (row, ns) in references.iter().enumerate() {
            let style = BLACK.mix(0.5).stroke_width(1);
            let ends = [(low as f64, *ns), (high as f64, *ns)];
            chart.draw_series(DashedLineSeries::new(ends, 6, 4, style))?;
            name(lines.len() + row, &format!("Molka et al. 2009, E: {ns} ns"), style)?;
        }
        Ok(())
    })
}
