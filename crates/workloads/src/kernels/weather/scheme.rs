//! The scheme, row by row: the quantities between the points, and the tendencies.
//!
//! Cell (i, j) has its depth h in the middle, u on its western and v on its southern face; the vorticity is at its
//! south-western corner. Sadourny, The dynamics of finite-difference models of the shallow-water equations (J. Atmos.
//! Sci. 32, 1975): the scheme that conserves mass and energy.

use super::Parameters;

/// Columns between a row's beginning and its first cell: a line of the cache, whose last number repeats the last cell.
pub(super) const MARGIN: usize = 8;

/// One row of the three prognostic fields, each with the column west of the first cell and the one east of the last.
#[derive(Clone, Copy)]
pub(super) struct State<'a> {
    pub(super) u: &'a [f64],
    pub(super) v: &'a [f64],
    pub(super) h: &'a [f64],
}

impl<'a> State<'a> {
    /// From a row that holds u, v and h one after the other.
    pub(super) fn of(row: &'a [f64], columns: usize) -> Self {
        let stride = stride(columns);
        let cut = |field: usize| &row[field * stride + MARGIN - 1..][..columns + 2];
        Self { u: cut(0), v: cut(1), h: cut(2) }
    }
}

/// Distance from one field of a row to the next, in numbers.
pub(super) fn stride(columns: usize) -> usize {
    (columns + 2 * MARGIN).next_multiple_of(MARGIN)
}

/// Where a field's first cell is in a row.
pub(super) fn first(field: usize, columns: usize) -> usize {
    field * stride(columns) + MARGIN
}

/// Repeats the first and last cells of each field on the other side, since the plane is periodic.
#[inline(always)]
pub(super) fn close(row: &mut [f64], columns: usize) {
    for field in 0..3 {
        let first = first(field, columns);
        row[first - 1] = row[first + columns - 1];
        row[first + columns] = row[first];
    }
}

/// Quantities at the middle of a row: the eastward flux F = h u and the Bernoulli function B.
#[derive(Clone)]
pub(super) struct Middle {
    flux: Vec<f64>,
    bernoulli: Vec<f64>,
}

/// Quantities on a row's southern edge: the northward flux G = h v and the potential vorticity q.
#[derive(Clone)]
pub(super) struct Edge {
    flux: Vec<f64>,
    vorticity: Vec<f64>,
}

/// The time derivatives of a row's u, v and h; the first cell is number 1.
pub(super) struct Tendency {
    pub(super) u: Vec<f64>,
    pub(super) v: Vec<f64>,
    pub(super) h: Vec<f64>,
}

impl Middle {
    pub(super) fn new(columns: usize) -> Self {
        Self { flux: vec![0.0; columns + 2], bernoulli: vec![0.0; columns + 2] }
    }

    /// From the row and its northern neighbour.
    #[inline(always)]
    pub(super) fn find(&mut self, row: State<'_>, north: State<'_>, parameters: &Parameters) {
        let n = self.flux.len();
        let (u, v, h, v_north) = (&row.u[..n], &row.v[..n], &row.h[..n], &north.v[..n]);
        let (flux, bernoulli) = (&mut self.flux[..n], &mut self.bernoulli[..n]);
        for i in 1..n {
            flux[i] = 0.5 * (h[i - 1] + h[i]) * u[i];
        }
        for i in 0..n - 1 {
            let motion = u[i] * u[i] + u[i + 1] * u[i + 1] + v[i] * v[i] + v_north[i] * v_north[i];
            bernoulli[i] = parameters.gravity * h[i] + 0.25 * motion;
        }
    }
}

impl Edge {
    pub(super) fn new(columns: usize) -> Self {
        Self { flux: vec![0.0; columns + 2], vorticity: vec![0.0; columns + 2] }
    }

    /// From the row and its southern neighbour.
    #[inline(always)]
    pub(super) fn find(&mut self, row: State<'_>, south: State<'_>, parameters: &Parameters) {
        let n = self.flux.len();
        let (u, v, h) = (&row.u[..n], &row.v[..n], &row.h[..n]);
        let (u_south, h_south) = (&south.u[..n], &south.h[..n]);
        let (flux, vorticity) = (&mut self.flux[..n], &mut self.vorticity[..n]);
        for i in 0..n {
            flux[i] = 0.5 * (h_south[i] + h[i]) * v[i];
        }
        let (per_dx, per_dy) = (1.0 / parameters.dx, 1.0 / parameters.dy);
        for i in 1..n {
            let turning = (v[i] - v[i - 1]) * per_dx - (u[i] - u_south[i]) * per_dy;
            let depth = 0.25 * (h[i] + h[i - 1] + h_south[i] + h_south[i - 1]);
            vorticity[i] = (parameters.coriolis + turning) / depth;
        }
    }
}

impl Tendency {
    pub(super) fn new(columns: usize) -> Self {
        let row = || vec![0.0; columns + 2];
        Self { u: row(), v: row(), h: row() }
    }

    /// From the middles of the row and of the one south of it, and the row's southern and northern edges.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        (below, here): (&Middle, &Middle),
        (south, north): (&Edge, &Edge),
        parameters: &Parameters,
    ) {
        let n = self.u.len();
        let (per_dx, per_dy) = (1.0 / parameters.dx, 1.0 / parameters.dy);
        let (du, dv, dh) = (&mut self.u[..n], &mut self.v[..n], &mut self.h[..n]);
        let (f, b) = (&here.flux[..n], &here.bernoulli[..n]);
        let (f_below, b_below) = (&below.flux[..n], &below.bernoulli[..n]);
        let (g, q) = (&south.flux[..n], &south.vorticity[..n]);
        let (g_north, q_north) = (&north.flux[..n], &north.vorticity[..n]);
        for i in 1..n - 1 {
            let turned = q[i] * (g[i - 1] + g[i]) + q_north[i] * (g_north[i - 1] + g_north[i]);
            du[i] = 0.25 * turned - (b[i] - b[i - 1]) * per_dx;
        }
        for i in 1..n - 1 {
            let turned = q[i] * (f[i] + f_below[i]) + q[i + 1] * (f[i + 1] + f_below[i + 1]);
            dv[i] = -0.25 * turned - (b[i] - b_below[i]) * per_dy;
        }
        for i in 1..n - 1 {
            dh[i] = -(f[i + 1] - f[i]) * per_dx - (g_north[i] - g[i]) * per_dy;
        }
    }
}
