//! A command under several placements, for people.

use std::io;

use coho_profile::Trial;
use coho_show::render::terminal::{self, Options};
use coho_show::sections::trials;
pub use coho_show::sections::trials::verdict;
use coho_show::visible::Paint;

use crate::visible::Out;

impl Paint for Out {
    fn paint(&mut self, own: &str) -> io::Result<()> {
        crate::visible::Paint::paint(self, own)
    }
}

/// Writes the times, which is best, and what may explain it.
pub fn write(out: &mut Out, trial: &Trial) -> io::Result<()> {
    terminal::parts(out, &trials::trial(trial), Options::stdout(false))
}
