//! Tables as files of comma-separated values.
