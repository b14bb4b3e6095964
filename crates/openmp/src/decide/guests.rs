//! Libraries that bring an OpenMP runtime of their own whose functions coho does not serve, as plug-ins may if the program
//! started without a runtime.
//!
//! The loader binds them to this library's functions all the same, as a preloaded library comes first. Their calls are
//! recognised by the address that they come from, and passed on to that runtime.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use super::{Service, loaded, service};
use crate::exports;

/// A library with its runtime.
#[derive(Debug)]
struct Guest {
    library: Range<usize>,
    runtime: Range<usize>,
    /// The runtime's functions that the library imports, by their places in the table.
    functions: Vec<(usize, *mut c_void)>,
}

#[derive(Debug, Default)]
struct Guests {
    list: Vec<Guest>,
    /// The functions that other libraries import.
    others: Vec<usize>,
}

/// Null if there are none. Old lists are not freed, as other threads may still read them.
static GUESTS: AtomicPtr<Guests> = AtomicPtr::new(ptr::null_mut());

fn guests() -> Option<&'static Guests> {
    // SAFETY: never freed.
    unsafe { GUESTS.load(Acquire).as_ref() }
}

/// Inspects the loaded objects.
pub fn look() {
    // Without this library, all would use that runtime's functions.
    if exports::begins_with_runtime() {
        return;
    }
    let (mut found, mut begun) = (Guests::default(), false);
    loaded::each_object(&mut |_| {
        // Inside the iteration, so that no object is unloaded while it is inspected.
        if !std::mem::replace(&mut begun, true) {
            found = find();
        }
    });
    if !found.list.is_empty() || guests().is_some() {
        GUESTS.swap(Box::into_raw(Box::new(found)), AcqRel);
    }
}

fn find() -> Guests {
    let (mut objects, mut found) = (Vec::new(), Guests::default());
    loaded::each_object(&mut |object| objects.push(*object));
    for object in objects.iter().filter(|object| !object.is_runtime()) {
        let (mut imports, mut is_served) = (Vec::new(), true);
        object.each_import(&mut |name, version| {
            let service = service(name, version);
            if service != Service::None {
                imports.push(name.to_owned());
                is_served &= service != Service::Missing;
            }
        });
        if imports.is_empty() {
            continue;
        }
        let has_some = |other: &&loaded::Object| imports.iter().any(|name| other.function(name).is_some());
        let places = imports.iter().filter_map(|name| Some((exports::find(name)?, name)));
        match object.scope(&objects).into_iter().find(has_some).filter(|runtime| !runtime.is_libgomp()) {
            Some(runtime) => found.list.push(Guest {
                library: object.range(),
                runtime: runtime.range(),
                functions: places.filter_map(|(at, name)| Some((at, runtime.function(name)?))).collect(),
            }),
            None => found.others.extend(places.map(|(at, _)| at)),
        }
    }
    found
}

/// Whether an object's imports go to a runtime of its own.
pub fn contain(object: &loaded::Object) -> bool {
    guests().is_some_and(|guests| guests.list.iter().any(|guest| guest.library == object.range()))
}

/// Whether some guest imports the function at this place in the table.
pub fn import(at: usize) -> bool {
    guests().is_some_and(|guests| guests.list.iter().any(|guest| guest.function(at).is_some()))
}

/// The function that a call from this address means, if the caller is a guest or was called by one.
pub fn function(at: usize, caller: usize) -> Option<*mut c_void> {
    let guests = guests()?;
    let is_it = |guest: &&Guest| guest.library.contains(&caller) || guest.runtime.contains(&caller);
    let own = guests.list.iter().filter(is_it).find_map(|guest| guest.function(at));
    // A function that makes a tail call leaves only the address of its own caller.
    own.or_else(|| {
        let only_guests = !guests.others.contains(&at);
        guests.list.iter().filter(|_| only_guests).find_map(|guest| guest.function(at))
    })
}

impl Guest {
    fn function(&self, at: usize) -> Option<*mut c_void> {
        self.functions.iter().find(|&&(place, _)| place == at).map(|&(_, function)| function)
    }
}
