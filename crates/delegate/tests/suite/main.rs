//! Real hosts and callers, and the C interface.

mod c;
mod channel;
mod header;
