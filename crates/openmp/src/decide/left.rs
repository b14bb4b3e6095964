//! Functions that stay the program's own runtime's, as they have nothing to do with teams, and those that it alone has.

use crate::kmp::atomic;

/// Functions that work as well beside coho's teams.
const LEFT: &[&str] = &[
    "GOMP_error",
    "GOMP_free",
    "GOMP_warning",
    "__kmpc_error",
    "__kmpc_get_target_offload",
    "kmp_aligned_malloc",
    "kmp_calloc",
    "kmp_create_affinity_mask",
    "kmp_destroy_affinity_mask",
    "kmp_free",
    "kmp_get_affinity",
    "kmp_get_affinity_mask_proc",
    "kmp_get_affinity_max_proc",
    "kmp_get_blocktime",
    "kmp_get_library",
    "kmp_get_num_known_threads",
    "kmp_get_stacksize",
    "kmp_get_stacksize_s",
    "kmp_malloc",
    "kmp_realloc",
    "kmp_set_affinity",
    "kmp_set_affinity_mask_proc",
    "kmp_set_blocktime",
    "kmp_set_disp_num_buffers",
    "kmp_set_library_throughput",
    "kmp_set_library_turnaround",
    "kmp_set_warnings_off",
    "kmp_set_warnings_on",
    "kmp_unset_affinity_mask_proc",
    "kmpc_aligned_malloc",
    "kmpc_calloc",
    "kmpc_free",
    "kmpc_get_affinity_mask_proc",
    "kmpc_malloc",
    "kmpc_realloc",
    "kmpc_set_affinity_mask_proc",
    "kmpc_set_blocktime",
    "kmpc_set_disp_num_buffers",
    "kmpc_unset_affinity_mask_proc",
    "omp_ancestor_is_free_agent",
    "omp_control_tool",
    "omp_destroy_allocator",
    "omp_display_env",
    "omp_free",
    "omp_get_affinity_format",
    "omp_get_device_num",
    "omp_get_initial_device",
    "omp_get_mapped_ptr",
    "omp_get_max_teams",
    "omp_get_num_devices",
    "omp_get_teams_thread_limit",
    "omp_get_wtick",
    "omp_get_wtime",
    "omp_init_allocator",
    "omp_is_free_agent",
    "omp_is_initial_device",
    "omp_set_affinity_format",
    "omp_set_num_teams",
    "omp_set_teams_thread_limit",
    "omp_target_alloc",
    "omp_target_associate_ptr",
    "omp_target_disassociate_ptr",
    "omp_target_free",
    "omp_target_is_accessible",
    "omp_target_is_present",
    "omp_target_memcpy",
    "omp_target_memcpy_rect",
    "ompc_get_affinity_format",
    "ompc_set_affinity_format",
];

/// The types of LLVM's atomic operations that need no lock.
const ATOMIC: &[&str] =
    &["fixed1", "fixed2", "fixed4", "fixed8", "float4", "float8", "bool", "val", "1", "2", "4", "8"];

/// Whether a function stays the runtime's. Fortran's forms go by the name without what is added.
pub fn is_left(base: &str) -> bool {
    let of_type = |operation: &str| {
        let (kind, operation) = operation.split_once('_').unwrap_or((operation, ""));
        // The second operand's type may be another.
        ATOMIC.contains(&kind.trim_end_matches('u'))
            && !["fp", "cmplx8", "cmplx10"].iter().any(|one| operation.contains(one))
    };
    LEFT.contains(&base)
        || atomic::is_under_a_lock(base)
        || base.strip_prefix("__kmpc_atomic_").is_some_and(of_type)
}
