//! The C interface, from C and by its header and symbols.

mod c;
mod header;
