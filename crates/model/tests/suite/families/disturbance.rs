//! What disturbs published figures.

use coho_model::Matrix;
use fastrand::Rng;

#[derive(Debug, Clone, Copy, Default)]
pub struct Disturbance {
    /// Standard deviation of the times' logarithms.
    noise: f64,
    /// Mean of a one-sided addition, as a share of the time: interrupts only ever delay.
    tail: f64,
    /// Share of pairs that take up to five times as long.
    odd: f64,
    /// Share of pairs that take down to half as long: on a busy machine some sample is now and then too short.
    short: f64,
    /// How much longer all pairs of one CPU take, as a share.
    busy: f64,
    /// How much longer the last row's pairs take than the first's, as a share: the clock slows down meanwhile.
    drift: f64,
    /// How much the two directions of a pair differ, as a share.
    asymmetry: f64,
    /// Step of the clock per transfer, in ns.
    step_ns: f64,
    /// Only the lower triangle was written.
    triangle: bool,
}

impl Disturbance {
    pub fn random(rng: &mut Rng) -> Self {
        let sometimes =
            |rng: &mut Rng, one_in: u8, most: f64| if rng.u8(..one_in) == 0 { most * rng.f64() } else { 0.0 };
        Self {
            noise: [0.0005, 0.003, 0.01, 0.01, 0.02, 0.03, 0.06, 0.12][rng.usize(..8)],
            tail: sometimes(rng, 3, 0.06),
            odd: sometimes(rng, 6, 0.01),
            short: sometimes(rng, 15, 0.2),
            busy: sometimes(rng, 10, 0.3),
            drift: sometimes(rng, 5, 0.08),
            asymmetry: sometimes(rng, 4, 0.1),
            step_ns: if rng.u8(..12) == 0 { [0.4, 1.0, 5.2, 10.0][rng.usize(..4)] } else { 0.0 },
            triangle: rng.u8(..4) == 0,
        }
    }

    /// Whether a gap between the largest time inside and the least across stands out of this, on a machine whose times
    /// of one kind differ by this slope.
    pub fn shows(&self, (inside, across): (f64, f64), slope: f64) -> bool {
        let scatter = self.noise + self.tail + self.busy / 3.0 + self.drift / 2.0 + self.asymmetry / 4.0;
        let least = if slope < 0.01 && scatter < 0.004 { 1.1 } else { 1.2 };
        self.short == 0.0
            && across > inside * least * (5.0 * scatter).exp()
            && across - inside > 2.2 * self.step_ns
    }

    /// The matrix that is read, and which pairs are odd in it.
    pub fn measure(&self, rng: &mut Rng, n: usize, times: &[f64]) -> (Matrix, Vec<(usize, usize)>) {
        let busy = rng.usize(..n);
        let mut odd_pairs = Vec::new();
        let mut ns = vec![f64::NAN; n * n];
        for a in 0..n {
            for b in 0..a {
                let odd = if rng.f64() < self.odd { 1.3 + 4.0 * rng.f64() } else { 1.0 };
                if odd > 1.0 {
                    odd_pairs.push((b, a));
                }
                let short = if rng.f64() < self.short { 0.5 + 0.4 * rng.f64() } else { 1.0 };
                for (row, column) in [(a, b), (b, a)] {
                    if self.triangle && row < column {
                        continue;
                    }
                    let mut time = times[row * n + column] * odd * short;
                    time *= (self.noise * normal(rng)).exp() - self.tail * rng.f64().max(1e-9).ln();
                    time *= 1.0
                        + self.drift * a as f64 / n as f64
                        + self.asymmetry * if row < column { rng.f64() } else { 0.0 };
                    if a == busy || b == busy {
                        time *= 1.0 + self.busy * (0.5 + rng.f64());
                    }
                    if self.step_ns > 0.0 {
                        let steps = (time / self.step_ns + rng.f64()).floor();
                        let off = if steps > 0.0 { f64::from(rng.u8(..2)) / 15.0 } else { 0.0 };
                        time = (steps + off) * self.step_ns;
                    }
                    ns[row * n + column] = time;
                }
            }
        }
        (Matrix::new((0..n as u32).collect(), ns).unwrap(), odd_pairs)
    }
}

fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
}
