//! Charts of lines whose points are estimates.

use coho_profile::Estimate;

use crate::sections::prelude::*;

/// Lines of one chart, at most: a profile may have any number.
pub(super) const MOST: usize = 12;

/// A positive figure in another unit.
pub(super) fn figure(estimate: &Option<Estimate>, scale: f64) -> Option<Figure> {
    let figure = Figure::from(estimate.as_ref()?).scaled(scale);
    scale::is_time(figure.value).then_some(figure)
}

/// Each point on the line of its name, from left to right. `None` if no line has two points.
pub(super) fn lines(
    id: impl Into<String>,
    title: impl Into<String>,
    axes: [Axis; 2],
    points: impl IntoIterator<Item = (Series, Point)>,
) -> Option<Chart> {
    let mut lines = Series::by_name(points);
    lines.truncate(MOST);
    for line in &mut lines {
        line.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    lines.iter().any(|line| line.points.len() > 1).then(|| Chart::lines(id, title, axes, lines))
}
