//! Libraries that may or may not be installed.

use std::ffi::CString;

/// A library that stays loaded: threads may still be in it.
pub(crate) struct Library(&'static libloading::Library);

impl Library {
    /// Loads the first of these names that exists.
    pub(crate) fn load(names: &[&str]) -> Result<Self, String> {
        let mut why = String::from("no name was given");
        for name in names {
            // SAFETY: what is loaded here are measuring libraries, whose start-up code is made for being loaded.
            match unsafe { libloading::Library::new(*name) } {
                Ok(library) => return Ok(Self(Box::leak(Box::new(library)))),
                Err(error) => {
                    why = std::error::Error::source(&error)
                        .map_or_else(|| error.to_string(), ToString::to_string);
                }
            }
        }
        Err(why)
    }

    /// A function.
    ///
    /// # Safety
    /// `F` must be the function's type.
    pub(crate) unsafe fn function<F: Copy>(&self, name: &str) -> Result<F, String> {
        let symbol = CString::new(name).map_err(|error| error.to_string())?;
        // SAFETY: the caller's promise; the library is never closed, so that the copy stays valid.
        let found = unsafe { self.0.get::<F>(symbol.as_bytes_with_nul()) };
        found.map(|function| *function).map_err(|_| format!("the library has no function {name}"))
    }
}
