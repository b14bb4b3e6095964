//! What is asked of a path: figures between variants, and crossovers of protocols.

use super::{MAX_BYTES, Resolver};
use crate::path::Variant;
use crate::path::error::Error;
use crate::path::figure::{Crossover, Figure};
use crate::path::file::{Entry, Gap, RawCrossover, RawFigure, Span};

/// The most protocols of a crossover, and the most sizes at which their times have a corner.
const MAX_PROTOCOLS: usize = 8;
const MAX_CORNERS: usize = 2000;

impl Resolver<'_> {
    fn find<T>(
        &self,
        entry: &Entry<T>,
        name: &toml::Spanned<String>,
        variants: &[Variant],
    ) -> Result<usize, Error> {
        let wanted = name.get_ref();
        variants.iter().position(|variant| variant.name == *wanted).ok_or_else(|| {
            self.file.place_in(entry, name).error(format!("no variant '{wanted}'; add it as [[variant]]"))
        })
    }

    pub(super) fn figures(&self, variants: &[Variant]) -> Result<Vec<Figure>, Error> {
        let figure = |entry: &Entry<RawFigure>| {
            let raw = &entry.value;
            let (a, b) = (self.find(entry, &raw.a, variants)?, self.find(entry, &raw.b, variants)?);
            let summed = raw.gap == Gap::Sum;
            for index in [a, b] {
                if summed && self.file.gap_ns.is_some() && variants[index].gaps() == 0 {
                    let message = format!(
                        "variant '{}' has no gap to vary; add 'gaps' to a stage",
                        variants[index].name
                    );
                    return Err(self.file.place(entry).error(message));
                }
            }
            Ok(Figure {
                name: raw.name.clone(),
                title: raw.title.clone(),
                bus: raw.bus.clone(),
                a,
                b,
                sum_of_gaps: summed,
            })
        };
        self.file.figures.iter().map(figure).collect()
    }

    pub(super) fn crossovers(&self, variants: &[Variant]) -> Result<Vec<Crossover>, Error> {
        let crossover = |entry: &Entry<RawCrossover>| {
            let raw = &entry.value;
            let protocols: Vec<usize> = raw
                .protocols
                .iter()
                .map(|name| self.find(entry, name, variants))
                .collect::<Result<_, _>>()?;
            if !(2..=MAX_PROTOCOLS).contains(&protocols.len()) {
                let message = format!("a crossover is between 2 to {MAX_PROTOCOLS} protocols");
                return Err(self.file.place(entry).error(message));
            }
            let corners: usize = protocols.iter().map(|&index| variants[index].corners(0).len()).sum();
            if corners > MAX_CORNERS {
                let message = format!("its tables have {corners} points; at most {MAX_CORNERS} are compared");
                return Err(self.file.place(entry).error(message));
            }
            let (place, &Span { from, to, points }) =
                (self.file.place_in(entry, &raw.bytes), raw.bytes.get_ref());
            if from < 1.0 {
                return Err(place.error("sizes begin at 1 byte"));
            }
            let (least, greatest) = self.span(&place, from, to, 1.0, MAX_BYTES)?;
            let grid = points.map(|points| self.grid(&place, least, greatest, points)).transpose()?;
            Ok(Crossover { name: raw.name.clone(), protocols, least, greatest, grid })
        };
        self.file.crossovers.iter().map(crossover).collect()
    }
}
