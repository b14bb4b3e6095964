//! The heat map of pairs. The page fills it in, since it can switch between methods and orders.

use plotly::common::{ColorBar, ColorScale, ColorScalePalette};
use plotly::layout::Axis;
use plotly::{HeatMap, Plot};
use serde_json::{Value, json};

use super::{Chart, layout, literal};
use crate::report::encode::{Encoded, Precision};
use crate::report::matrix::{Matrix, Order};
use crate::report::scale;

/// Up to so many rows each has its name at the axis.
const NAMED_ROWS: usize = 32;
/// Up to so many rows each cell shows its figure.
const FIGURED_ROWS: usize = 12;

/// The heat map with the views that a precision is given for, and by how much its times are rounded at most; `None` if
/// there is no view.
pub fn heat_map(id: String, matrix: &Matrix, precisions: &[Option<Precision>]) -> Option<(Chart, f64)> {
    let mut rounding: f64 = 0.0;
    let views: Vec<Value> = matrix
        .views
        .iter()
        .zip(precisions)
        .filter_map(|(view, precision)| {
            let encoded = Encoded::of(view, (*precision)?);
            rounding = rounding.max(encoded.rounding());
            let (low, high) = scale::robust_ends(view.ns.iter().copied())?;
            let (ticks, texts): (Vec<f64>, Vec<String>) = scale::log_ticks(low, high).into_iter().unzip();
            Some(json!({
                "name": view.name(),
                "width": encoded.width,
                "low": encoded.low,
                "step": encoded.step,
                "codes": encoded.base64,
                "flat": high / low < 1.001,
                "zmin": low.log10(),
                "zmax": high.log10().max(low.log10() + 1e-3),
                "ticks": ticks,
                "texts": texts,
            }))
        })
        .collect();
    if views.is_empty() {
        return None;
    }
    let mut plot = Plot::new();
    plot.add_trace(
        HeatMap::new(Vec::<String>::new(), Vec::<String>::new(), Vec::<Vec<f64>>::new())
            .color_scale(ColorScale::Palette(ColorScalePalette::Viridis))
            .color_bar(ColorBar::new().title("ns").thickness(12))
            .hover_template("%{y} and %{x}<br>%{customdata}<extra></extra>")
            .hover_on_gaps(false),
    );
    let axis = || Axis::new().show_grid(false).zero_line(false);
    plot.set_layout(layout(axis(), axis()));
    let mut chart = Chart::new(id, "Heat map of the times of all pairs of CPUs", 420, &plot);
    let labels: Vec<String> = matrix.labels.iter().map(|label| literal(label)).collect();
    let orders: Vec<Value> = matrix.orders.iter().map(|order| order_json(order, &labels)).collect();
    chart.json["heat"] = json!({
        "labels": labels,
        "views": views,
        "orders": orders,
        "figures": labels.len() <= FIGURED_ROWS,
    });
    Some((chart, rounding))
}

fn order_json(order: &Order, labels: &[String]) -> Value {
    let n = order.cells.len();
    let places: Vec<usize> = if n <= NAMED_ROWS {
        (0..n).collect()
    } else {
        // The beginnings of groups as long as they leave room for their names; else even steps.
        let groups = order.levels.iter().rev().find(|level| level.cuts.len() < 16);
        match groups {
            Some(level) => std::iter::once(0).chain(level.cuts.iter().copied()).collect(),
            None => (0..n).step_by(n.div_ceil(16)).collect(),
        }
    };
    let texts: Vec<&str> = places.iter().map(|&place| labels[order.cells[place]].as_str()).collect();
    let levels: Vec<Value> = order
        .levels
        .iter()
        .enumerate()
        .map(|(depth, level)| {
            // Lines that are many must be thin, or the map is all lines.
            let width =
                if level.cuts.len() > 8 { 0.5 } else { [2.5, 1.5].get(depth).copied().unwrap_or(0.8) };
            json!({ "name": literal(&level.name), "cuts": level.cuts, "width": width })
        })
        .collect();
    json!({ "name": order.name, "cells": order.cells, "ticks": places, "texts": texts, "levels": levels })
}
