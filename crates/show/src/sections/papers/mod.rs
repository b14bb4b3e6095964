//! Published figures beside the user's, a file for each paper.

pub mod shimosawa_hori_ishikawa;
