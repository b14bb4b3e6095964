//! Loops as compiled code shares them out.

use libc::{c_int, c_void};

use super::deal::{Chunk, Deal};
use crate::here::{Membership, here};
use crate::settings::{Kind, Schedule};
use crate::sharing::{Bounds, chosen, chosen_any_order};

/// LLVM's numbers of schedules.
mod number {
    pub const STATIC_CHUNKED: i32 = 33;
    pub const DYNAMIC: i32 = 35;
    pub const GUIDED: i32 = 36;
    pub const RUNTIME: i32 = 37;
    pub const TRAPEZOIDAL: i32 = 39;
    pub const GUIDED_ITERATIVE: i32 = 42;
    pub const GUIDED_ANALYTICAL: i32 = 43;
    pub const STEAL: i32 = 44;
    /// `static` of whole vectors.
    pub const BALANCED_CHUNKED: i32 = 45;
    pub const GUIDED_SIMD: i32 = 46;
    pub const RUNTIME_SIMD: i32 = 47;
    /// An ordered loop's number is its schedule's and this.
    pub const ORDERED: i32 = 32;
    pub const FIRST_ORDERED: i32 = 64;
    /// Of teams, each of which has a part.
    pub const DISTRIBUTE_CHUNKED: i32 = 91;
    pub const DISTRIBUTE: i32 = 92;
    /// A loop whose chunks are not merged has its number and this.
    pub const UNMERGED: i32 = 128;
    pub const FIRST_UNMERGED: i32 = 160;
    /// Set beside the number.
    pub const MONOTONIC: i32 = 1 << 29;
    pub const NONMONOTONIC: i32 = 1 << 30;
}

/// The schedule of a loop of so many iterations by LLVM's number, and whether the loop is ordered. If the program's user
/// chooses the chunks of a loop of vectors, they are multiples of the given length.
pub(super) fn schedule(given: i32, chunk: u64, count: u64) -> (Schedule, bool) {
    let any_order = given & number::NONMONOTONIC != 0;
    let mut base = given & !(number::MONOTONIC | number::NONMONOTONIC);
    if base >= number::FIRST_UNMERGED {
        base -= number::UNMERGED;
    }
    let is_ordered = base >= number::FIRST_ORDERED;
    if is_ordered {
        base -= number::ORDERED;
    }
    let chosen = if any_order && !is_ordered { chosen_any_order } else { chosen };
    let (kind, chunk) = match base {
        number::STATIC_CHUNKED => (Kind::Static, chunk),
        number::DYNAMIC | number::STEAL if any_order && !is_ordered => (Kind::Nonmonotonic, chunk),
        number::DYNAMIC | number::STEAL => (Kind::Dynamic, chunk),
        number::GUIDED
        | number::TRAPEZOIDAL
        | number::GUIDED_ITERATIVE
        | number::GUIDED_ANALYTICAL
        | number::GUIDED_SIMD => (Kind::Guided, chunk),
        number::RUNTIME => return (chosen(), is_ordered),
        number::RUNTIME_SIMD => match chosen() {
            Schedule { kind: Kind::Static, chunk: 0 } => {
                let each = count.div_ceil(here().size().into());
                (Kind::Static, each.next_multiple_of(chunk))
            }
            Schedule { kind, chunk: times } => (kind, times.max(1).saturating_mul(chunk)),
        },
        _ => (Kind::Static, 0),
    };
    (Schedule { kind, chunk }, is_ordered)
}

/// Whether a static schedule has chunks of a given length.
pub(super) fn is_chunked(given: i32) -> bool {
    given & !(number::MONOTONIC | number::NONMONOTONIC) == number::STATIC_CHUNKED
}

/// What the calling member has of a loop that is dealt by a rule, given from where to where it goes.
#[inline]
fn first(schedule: i32, bounds: &Bounds, (lower, upper): (u64, u64), chunk: u64) -> Chunk {
    if bounds.count == 0 {
        return Chunk { lower, upper, stride: bounds.step(), has_last: false };
    }
    let membership = here();
    let is_of_teams = matches!(schedule, number::DISTRIBUTE_CHUNKED | number::DISTRIBUTE);
    let (rank, size) = match is_of_teams {
        true => membership.region().league,
        false => (membership.rank, membership.size()),
    };
    if size == 1 {
        let distance = upper.wrapping_sub(lower);
        let stride =
            if bounds.step() as i64 > 0 { distance.wrapping_add(1) } else { distance.wrapping_sub(1) };
        return Chunk { lower, upper, stride, has_last: true };
    }
    let deal = match schedule {
        number::STATIC_CHUNKED | number::DISTRIBUTE_CHUNKED => Deal::Chunks(chunk),
        number::BALANCED_CHUNKED => Deal::WholeChunks(chunk),
        _ => Deal::Shares,
    };
    deal.first(bounds, rank.into(), size.into())
}

/// A member's next chunk of a loop, by the first and the last value of its variable, and whether it is the loop's last. If
/// there is none, the loop has ended for the member.
#[inline]
fn next(membership: &Membership) -> Option<(u64, u64, bool)> {
    let Some((from, to)) = membership.next_values() else {
        membership.end_loop();
        return None;
    };
    let bounds = membership.bounds();
    Some((from, to.wrapping_sub(bounds.step()), to == bounds.end()))
}

macro_rules! loops {
    ($($value:ident as $wide:ident, $distance:ident, $is_signed:literal:
       $static_init:ident, $init:ident, $next:ident;)*) => { $(
        pub unsafe extern "C-unwind" fn $static_init(
            _place: *const c_void, _number: c_int, schedule: c_int, has_last: *mut c_int,
            lower: *mut $value, upper: *mut $value, stride: *mut $distance, step: $distance, chunk: $distance,
        ) {
            let given = schedule & !(number::MONOTONIC | number::NONMONOTONIC);
            // SAFETY: the compiler's.
            unsafe {
                let (from, to) = (*lower as $wide as u64, *upper as $wide as u64);
                let bounds = Bounds::through(from, to, step as i64, $is_signed);
                let part = first(given, &bounds, (from, to), chunk.max(1) as u64);
                if let Some(has_last) = has_last.as_mut() {
                    *has_last = part.has_last.into();
                }
                *lower = part.lower as $value;
                *upper = part.upper as $value;
                *stride = part.stride as $distance;
            }
        }

        pub unsafe extern "C-unwind" fn $init(
            _place: *const c_void, _number: c_int, given: c_int, lower: $value, upper: $value, step: $distance,
            chunk: $distance,
        ) {
            let bounds = Bounds::through(lower as $wide as u64, upper as $wide as u64, step as i64, $is_signed);
            let (schedule, is_ordered) = schedule(given, chunk.max(1) as u64, bounds.count);
            here().begin_loop(bounds, schedule, is_ordered);
        }

        pub unsafe extern "C-unwind" fn $next(
            _place: *const c_void, _number: c_int, has_last: *mut c_int, lower: *mut $value, upper: *mut $value,
            stride: *mut $distance,
        ) -> c_int {
            let membership = here();
            let Some((from, to, is_last)) = next(membership) else { return 0 };
            // SAFETY: the compiler's.
            unsafe {
                *lower = from as $value;
                *upper = to as $value;
                if let Some(has_last) = has_last.as_mut() {
                    *has_last = is_last.into();
                }
                if let Some(stride) = stride.as_mut() {
                    *stride = membership.bounds().step() as $distance;
                }
            }
            1
        }
    )* };
}

loops! {
    i32 as i64, i32, true: static_init_4, dispatch_init_4, dispatch_next_4;
    u32 as u64, i32, false: static_init_4u, dispatch_init_4u, dispatch_next_4u;
    i64 as i64, i64, true: static_init_8, dispatch_init_8, dispatch_next_8;
    u64 as u64, i64, false: static_init_8u, dispatch_init_8u, dispatch_next_8u;
}

/// The end of a loop that may have been left before its last chunk.
pub extern "C" fn dispatch_deinit() {
    here().end_loop();
}

pub extern "C-unwind" fn ordered() {
    here().await_ordered();
}
