//! What the old report still takes from here.

/// Why a barrier may take less than its limit.
pub const LIMIT: &str = coho_show::sections::barriers::LIMIT;
