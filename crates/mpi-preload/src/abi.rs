//! What differs between MPIs. Handles are numbers in MPICH, and addresses of variables in Open MPI; both keep them for all
//! programs that were ever linked with them.

use std::ffi::{CStr, c_int, c_void};

use crate::real::{Loaded, Real};

/// An MPI handle. MPICH's fill the lower half.
pub(crate) type Handle = usize;

/// Built-in types that are reduced here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Number {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

/// Built-in operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Max,
    Min,
    Sum,
    Prod,
    Land,
    Band,
    Lor,
    Bor,
    Lxor,
    Bxor,
}

use Number::{F32, F64, I32, I64, U32, U64};
use Operation::{Band, Bor, Bxor, Land, Lor, Lxor, Max, Min, Prod, Sum};

/// Each type's number in MPICH and its variable in Open MPI, those first that are used most. `long` is as wide as an address.
const TYPES: [(usize, &CStr, Number); 15] = [
    (0x4c00_080b, c"ompi_mpi_double", F64),
    (0x4c00_0405, c"ompi_mpi_int", I32),
    (0x4c00_0807, c"ompi_mpi_long", I64),
    (0x4c00_040a, c"ompi_mpi_float", F32),
    (0x4c00_0406, c"ompi_mpi_unsigned", U32),
    (0x4c00_0808, c"ompi_mpi_unsigned_long", U64),
    (0x4c00_0809, c"ompi_mpi_long_long_int", I64),
    (0x4c00_0819, c"ompi_mpi_unsigned_long_long", U64),
    (0x4c00_0439, c"ompi_mpi_int32_t", I32),
    (0x4c00_083a, c"ompi_mpi_int64_t", I64),
    (0x4c00_043d, c"ompi_mpi_uint32_t", U32),
    (0x4c00_083e, c"ompi_mpi_uint64_t", U64),
    (0x4c00_081f, c"ompi_mpi_dblprec", F64),
    (0x4c00_041b, c"ompi_mpi_integer", I32),
    (0x4c00_041c, c"ompi_mpi_real", F32),
];

const OPERATIONS: [(usize, &CStr, Operation); 10] = [
    (0x5800_0003, c"ompi_mpi_op_sum", Sum),
    (0x5800_0001, c"ompi_mpi_op_max", Max),
    (0x5800_0002, c"ompi_mpi_op_min", Min),
    (0x5800_0004, c"ompi_mpi_op_prod", Prod),
    (0x5800_0005, c"ompi_mpi_op_land", Land),
    (0x5800_0006, c"ompi_mpi_op_band", Band),
    (0x5800_0007, c"ompi_mpi_op_lor", Lor),
    (0x5800_0008, c"ompi_mpi_op_bor", Bor),
    (0x5800_0009, c"ompi_mpi_op_lxor", Lxor),
    (0x5800_000a, c"ompi_mpi_op_bxor", Bxor),
];

/// One MPI's handles and constants.
#[derive(Debug)]
pub(crate) struct Abi {
    /// The part of a word that is a handle.
    mask: usize,
    pub(crate) world: Handle,
    pub(crate) self_: Handle,
    pub(crate) null: Handle,
    pub(crate) byte: Handle,
    pub(crate) int: Handle,
    pub(crate) min: Handle,
    pub(crate) errors_return: Handle,
    pub(crate) any_source: c_int,
    pub(crate) status_ignore: usize,
    in_place: usize,
    pub(crate) err_other: c_int,
    types: [(Handle, Number); TYPES.len()],
    operations: [(Handle, Operation); OPERATIONS.len()],
}

impl Abi {
    /// Of the library that is loaded; otherwise why it is not known.
    pub(crate) fn of(loaded: &Loaded, real: &Real) -> Result<Self, String> {
        let version = version(real);
        let is_one_of = |names: &[&str]| names.iter().any(|name| version.contains(name));
        // The ABI of MPI 5 has other constants; a library that offers it says which of them a program has.
        let has_other = loaded.function(c"PMPI_Abi_get_version").is_some();
        if is_one_of(&["Open MPI"]) {
            Self::of_open_mpi(loaded).ok_or_else(|| "Open MPI without its variables".into())
        } else if is_one_of(&["MPICH", "Intel(R) MPI", "MVAPICH"]) && !has_other {
            Ok(Self::of_mpich())
        } else {
            let line = version.lines().next().unwrap_or_default().to_owned();
            Err(format!("the handles of this MPI are not known: {line}"))
        }
    }

    fn of_mpich() -> Self {
        let plain = |&(number, _, kind)| (number, kind);
        Self {
            mask: u32::MAX as usize,
            world: 0x4400_0000,
            self_: 0x4400_0001,
            null: 0x0400_0000,
            byte: 0x4c00_010d,
            int: 0x4c00_0405,
            min: 0x5800_0002,
            errors_return: 0x5400_0001,
            any_source: -2,
            status_ignore: 1,
            in_place: usize::MAX,
            err_other: 15,
            types: TYPES.each_ref().map(plain),
            operations: OPERATIONS.each_ref().map(|&(number, _, kind)| (number, kind)),
        }
    }

    fn of_open_mpi(loaded: &Loaded) -> Option<Self> {
        let at = |name| loaded.variable(name).map(|address| address as Handle);
        let (mut types, mut operations) = ([(0, F64); TYPES.len()], [(0, Sum); OPERATIONS.len()]);
        for (found, (_, name, kind)) in types.iter_mut().zip(TYPES) {
            *found = (at(name)?, kind);
        }
        for (found, (_, name, kind)) in operations.iter_mut().zip(OPERATIONS) {
            *found = (at(name)?, kind);
        }
        Some(Self {
            mask: usize::MAX,
            world: at(c"ompi_mpi_comm_world")?,
            self_: at(c"ompi_mpi_comm_self")?,
            null: at(c"ompi_mpi_comm_null")?,
            byte: at(c"ompi_mpi_byte")?,
            int: at(c"ompi_mpi_int")?,
            min: at(c"ompi_mpi_op_min")?,
            errors_return: at(c"ompi_mpi_errors_return")?,
            any_source: -1,
            status_ignore: 0,
            in_place: 1,
            err_other: 16,
            types,
            operations,
        })
    }

    /// The handle that a word holds.
    #[inline(always)]
    pub(crate) fn handle(&self, word: usize) -> Handle {
        word & self.mask
    }

    #[inline(always)]
    pub(crate) fn number(&self, kind: usize) -> Option<Number> {
        let kind = self.handle(kind);
        self.types.iter().find(|(known, _)| *known == kind).map(|(_, number)| *number)
    }

    #[inline(always)]
    pub(crate) fn operation(&self, operation: usize) -> Option<Operation> {
        let operation = self.handle(operation);
        self.operations.iter().find(|(known, _)| *known == operation).map(|(_, kind)| *kind)
    }

    /// Whether a buffer's address is `MPI_IN_PLACE`: what is sent lies where the result goes.
    #[inline(always)]
    pub(crate) fn is_in_place(&self, buffer: *const c_void) -> bool {
        buffer.addr() == self.in_place
    }
}

/// What the library says that it is.
fn version(real: &Real) -> String {
    // More than any library's MPI_MAX_LIBRARY_VERSION_STRING, which is 8192 in MPICH.
    let mut text = vec![0u8; 1 << 16];
    let mut length = 0;
    // SAFETY: there is room.
    unsafe { (real.version)(text.as_mut_ptr().cast(), &raw mut length) };
    CStr::from_bytes_until_nul(&text).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}
