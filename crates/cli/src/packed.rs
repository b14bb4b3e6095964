//! The libraries to preload that are packed into the command.

use coho_run::preload::{Library, Packed, provide};

/// Offers them for preloading, which uses them only if the command was installed without their files.
pub fn provide_all() {
    provide(&[
        (Library::Pin, const { packed(coho_pack::pack!("coho_pin")) }),
        (Library::OpenMp, const { packed(coho_pack::pack!("coho_openmp")) }),
        (Library::Delegate, const { packed(coho_pack::pack!("coho_delegate_preload")) }),
        (Library::Mpi, const { packed(coho_pack::pack!("coho_mpi_preload")) }),
        (Library::Exact, const { packed(coho_pack::pack!("coho_tsan")) }),
        (Library::Share, const { packed(coho_pack::pack!("coho_share")) }),
    ]);
}

const fn packed(library: Option<(&'static str, usize, &'static [u8])>) -> Option<Packed> {
    match library {
        Some((hash, size, deflated)) => Some(Packed { hash, size, deflated }),
        None => None,
    }
}
