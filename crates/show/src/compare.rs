//! Two profiles.
