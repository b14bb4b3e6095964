//! The copy engine of a CUDA device, between pinned host memory and its own.

use std::cell::RefCell;
use std::rc::Rc;

use super::super::cuda::{Cuda, Direction};
use super::Way;

pub(super) const NAME: &str = "CUDA copy engine";

/// Both ways, for blocks of at most this many bytes.
pub(super) fn ways(bytes: usize) -> Result<Vec<Way>, String> {
    let engine = Rc::new(RefCell::new(Cuda::get()?.engine(bytes)?));
    let way = |name, direction, source| {
        let engine = Rc::clone(&engine);
        let copy = Box::new(move |bytes| engine.borrow_mut().copy(direction, bytes));
        Way { engine: NAME, direction: name, source, copy }
    };
    let host = engine.borrow().host();
    Ok(vec![
        way("host-to-device", Direction::ToDevice, Some(host)),
        way("device-to-host", Direction::ToHost, None),
    ])
}
