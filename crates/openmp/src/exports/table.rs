//! The exported names, of libgomp and of LLVM's runtime, and which of our functions serves each. One may serve several names: guided schedules are
//! monotonic even if they need not be.

use std::ffi::c_void;
use std::sync::atomic::AtomicPtr;

use super::Export;
use super::jump::jump;
use crate::cancel::entries;
use crate::{exclusive, kmp, query, region, sharing, task, teams};

macro_rules! exports {
    ($($name:ident = $ours:path;)*) => {
        /// Where each jumps to.
        #[expect(non_upper_case_globals, reason = "named as the functions")]
        mod aims {
            use super::*;
            $(pub static $name: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());)*
        }

        /// Their places in the table.
        #[expect(non_camel_case_types, reason = "named as the functions")]
        enum Number { $($name),* }

        #[expect(non_upper_case_globals, reason = "named as the functions")]
        mod numbers {
            $(pub const $name: usize = super::Number::$name as usize;)*
        }

        $(
            /// As the program's own runtime's.
            ///
            /// # Safety
            /// As the program's own runtime's.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                jump!(aims::$name, numbers::$name)
            }
        )*

        /// All of them.
        pub static TABLE: [Export; [$(stringify!($name)),*].len()] = [$(
            Export {
                name: concat!(stringify!($name), "\0"),
                aim: &aims::$name,
                ours: $ours as *const c_void,
                own: AtomicPtr::new(std::ptr::null_mut()),
            },
        )*];
    };
}

exports! {
    GOMP_parallel = region::parallel;
    GOMP_parallel_reductions = task::parallel_reductions;
    GOMP_teams_reg = teams::teams_reg;
    GOMP_barrier = exclusive::barrier;
    GOMP_barrier_cancel = entries::barrier;
    GOMP_cancel = entries::cancel;
    GOMP_cancellation_point = entries::cancellation_point;
    GOMP_critical_start = exclusive::critical_start;
    GOMP_critical_end = exclusive::critical_end;
    GOMP_critical_name_start = exclusive::critical_name_start;
    GOMP_critical_name_end = exclusive::critical_name_end;
    GOMP_atomic_start = exclusive::atomic_start;
    GOMP_atomic_end = exclusive::atomic_end;
    GOMP_single_start = exclusive::single_start;
    GOMP_single_copy_start = exclusive::single_copy_start;
    GOMP_single_copy_end = exclusive::single_copy_end;
    GOMP_loop_static_start = sharing::static_start;
    GOMP_loop_static_next = sharing::loop_next;
    GOMP_loop_ull_static_start = sharing::ull_static_start;
    GOMP_loop_ull_static_next = sharing::loop_next;
    GOMP_loop_dynamic_start = sharing::dynamic_start;
    GOMP_loop_dynamic_next = sharing::loop_next;
    GOMP_loop_ull_dynamic_start = sharing::ull_dynamic_start;
    GOMP_loop_ull_dynamic_next = sharing::loop_next;
    GOMP_loop_guided_start = sharing::guided_start;
    GOMP_loop_guided_next = sharing::loop_next;
    GOMP_loop_ull_guided_start = sharing::ull_guided_start;
    GOMP_loop_ull_guided_next = sharing::loop_next;
    GOMP_loop_nonmonotonic_dynamic_start = sharing::nonmonotonic_dynamic_start;
    GOMP_loop_nonmonotonic_dynamic_next = sharing::loop_next;
    GOMP_loop_ull_nonmonotonic_dynamic_start = sharing::ull_nonmonotonic_dynamic_start;
    GOMP_loop_ull_nonmonotonic_dynamic_next = sharing::loop_next;
    GOMP_loop_nonmonotonic_guided_start = sharing::guided_start;
    GOMP_loop_nonmonotonic_guided_next = sharing::loop_next;
    GOMP_loop_ull_nonmonotonic_guided_start = sharing::ull_guided_start;
    GOMP_loop_ull_nonmonotonic_guided_next = sharing::loop_next;
    GOMP_loop_runtime_start = sharing::runtime_start;
    GOMP_loop_runtime_next = sharing::loop_next;
    GOMP_loop_ull_runtime_start = sharing::ull_runtime_start;
    GOMP_loop_ull_runtime_next = sharing::loop_next;
    GOMP_loop_nonmonotonic_runtime_start = sharing::nonmonotonic_runtime_start;
    GOMP_loop_nonmonotonic_runtime_next = sharing::loop_next;
    GOMP_loop_ull_nonmonotonic_runtime_start = sharing::ull_nonmonotonic_runtime_start;
    GOMP_loop_ull_nonmonotonic_runtime_next = sharing::loop_next;
    GOMP_loop_maybe_nonmonotonic_runtime_start = sharing::nonmonotonic_runtime_start;
    GOMP_loop_maybe_nonmonotonic_runtime_next = sharing::loop_next;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start = sharing::ull_nonmonotonic_runtime_start;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next = sharing::loop_next;
    GOMP_loop_ordered_static_start = sharing::ordered_static_start;
    GOMP_loop_ordered_static_next = sharing::loop_next;
    GOMP_loop_ull_ordered_static_start = sharing::ull_ordered_static_start;
    GOMP_loop_ull_ordered_static_next = sharing::loop_next;
    GOMP_loop_ordered_dynamic_start = sharing::ordered_dynamic_start;
    GOMP_loop_ordered_dynamic_next = sharing::loop_next;
    GOMP_loop_ull_ordered_dynamic_start = sharing::ull_ordered_dynamic_start;
    GOMP_loop_ull_ordered_dynamic_next = sharing::loop_next;
    GOMP_loop_ordered_guided_start = sharing::ordered_guided_start;
    GOMP_loop_ordered_guided_next = sharing::loop_next;
    GOMP_loop_ull_ordered_guided_start = sharing::ull_ordered_guided_start;
    GOMP_loop_ull_ordered_guided_next = sharing::loop_next;
    GOMP_loop_ordered_runtime_start = sharing::ordered_runtime_start;
    GOMP_loop_ordered_runtime_next = sharing::loop_next;
    GOMP_loop_ull_ordered_runtime_start = sharing::ull_ordered_runtime_start;
    GOMP_loop_ull_ordered_runtime_next = sharing::loop_next;
    GOMP_loop_start = sharing::loop_start;
    GOMP_loop_ull_start = sharing::loop_ull_start;
    GOMP_loop_ordered_start = sharing::loop_ordered_start;
    GOMP_loop_ull_ordered_start = sharing::loop_ull_ordered_start;
    GOMP_loop_end = sharing::loop_end;
    GOMP_loop_end_nowait = sharing::loop_end_nowait;
    GOMP_loop_end_cancel = sharing::loop_end_cancel;
    GOMP_ordered_start = sharing::ordered_start;
    GOMP_ordered_end = sharing::ordered_end;
    GOMP_parallel_loop_static = sharing::parallel_static;
    GOMP_parallel_loop_dynamic = sharing::parallel_dynamic;
    GOMP_parallel_loop_guided = sharing::parallel_guided;
    GOMP_parallel_loop_nonmonotonic_dynamic = sharing::parallel_nonmonotonic_dynamic;
    GOMP_parallel_loop_nonmonotonic_guided = sharing::parallel_guided;
    GOMP_parallel_loop_runtime = sharing::parallel_runtime;
    GOMP_parallel_loop_nonmonotonic_runtime = sharing::parallel_nonmonotonic_runtime;
    GOMP_parallel_loop_maybe_nonmonotonic_runtime = sharing::parallel_nonmonotonic_runtime;
    GOMP_parallel_sections = sharing::parallel_sections;
    GOMP_sections_start = sharing::sections_start;
    GOMP_sections2_start = sharing::sections2_start;
    GOMP_sections_next = sharing::sections_next;
    GOMP_sections_end = sharing::sections_end;
    GOMP_sections_end_nowait = sharing::sections_end_nowait;
    GOMP_sections_end_cancel = sharing::sections_end_cancel;
    GOMP_task = task::task;
    GOMP_taskloop = task::taskloop;
    GOMP_taskloop_ull = task::taskloop_ull;
    GOMP_taskwait = task::taskwait;
    GOMP_taskwait_depend = task::taskwait_depend;
    GOMP_taskyield = task::taskyield;
    GOMP_taskgroup_start = task::taskgroup_start;
    GOMP_taskgroup_end = task::taskgroup_end;
    GOMP_taskgroup_reduction_register = task::taskgroup_reduction_register;
    GOMP_taskgroup_reduction_unregister = task::taskgroup_reduction_unregister;
    GOMP_task_reduction_remap = task::task_reduction_remap;
    GOMP_scope_start = task::scope_start;
    GOMP_workshare_task_reduction_unregister = task::workshare_task_reduction_unregister;
    GOMP_doacross_post = sharing::doacross_post;
    GOMP_doacross_wait = sharing::doacross_wait;
    GOMP_doacross_ull_post = sharing::doacross_post;
    GOMP_doacross_ull_wait = sharing::doacross_wait;
    GOMP_loop_doacross_start = sharing::doacross_start;
    GOMP_loop_ull_doacross_start = sharing::doacross_start;
    GOMP_loop_doacross_runtime_start = sharing::doacross_runtime_start;
    GOMP_loop_ull_doacross_runtime_start = sharing::doacross_runtime_start;
    GOMP_loop_doacross_static_start = sharing::doacross_static_start;
    GOMP_loop_ull_doacross_static_start = sharing::ull_doacross_static_start;
    GOMP_loop_doacross_dynamic_start = sharing::doacross_dynamic_start;
    GOMP_loop_ull_doacross_dynamic_start = sharing::ull_doacross_dynamic_start;
    GOMP_loop_doacross_guided_start = sharing::doacross_guided_start;
    GOMP_loop_ull_doacross_guided_start = sharing::ull_doacross_guided_start;
    __kmpc_begin = kmp::nothing;
    __kmpc_end = kmp::nothing;
    __kmpc_ok_to_fork = kmp::ok_to_fork;
    __kmpc_global_thread_num = kmp::global_thread_num;
    __kmpc_global_num_threads = query::get_num_threads;
    __kmpc_bound_thread_num = kmp::bound_thread_num;
    __kmpc_bound_num_threads = kmp::bound_num_threads;
    __kmpc_in_parallel = kmp::in_parallel;
    __kmpc_push_num_threads = kmp::push_num_threads;
    __kmpc_pop_num_threads = kmp::pop_num_threads;
    __kmpc_push_proc_bind = kmp::push_proc_bind;
    __kmpc_fork_call = kmp::fork_call;
    __kmpc_fork_call_if = kmp::fork_call_if;
    __kmpc_serialized_parallel = kmp::serialized_parallel;
    __kmpc_end_serialized_parallel = kmp::end_serialized_parallel;
    __kmpc_push_num_teams = kmp::push_num_teams;
    __kmpc_push_num_teams_51 = kmp::push_num_teams_51;
    __kmpc_fork_teams = kmp::fork_teams;
    __kmpc_barrier = exclusive::barrier;
    __kmpc_barrier_master = kmp::barrier_master;
    __kmpc_barrier_master_nowait = kmp::barrier_master_nowait;
    __kmpc_end_barrier_master = kmp::end_barrier_master;
    __kmpc_cancel = entries::kmp_cancel;
    __kmpc_cancel_barrier = entries::kmp_barrier;
    __kmpc_cancellationpoint = entries::kmp_cancellation_point;
    __kmpc_flush = kmp::flush;
    __kmpc_master = kmp::master;
    __kmpc_end_master = kmp::nothing;
    __kmpc_masked = kmp::masked;
    __kmpc_end_masked = kmp::nothing;
    __kmpc_single = kmp::single;
    __kmpc_end_single = kmp::nothing;
    __kmpc_scope = kmp::nothing;
    __kmpc_end_scope = kmp::nothing;
    __kmpc_copyprivate = kmp::copyprivate;
    __kmpc_copyprivate_light = kmp::copyprivate_light;
    __kmpc_set_thread_limit = kmp::set_thread_limit;
    __kmpc_init_lock = kmp::init_lock;
    __kmpc_init_lock_with_hint = kmp::init_lock;
    __kmpc_destroy_lock = kmp::nothing;
    __kmpc_set_lock = kmp::set_lock;
    __kmpc_unset_lock = kmp::unset_lock;
    __kmpc_test_lock = kmp::test_lock;
    __kmpc_init_nest_lock = kmp::init_nest_lock;
    __kmpc_init_nest_lock_with_hint = kmp::init_nest_lock;
    __kmpc_destroy_nest_lock = kmp::nothing;
    __kmpc_set_nest_lock = kmp::set_nest_lock;
    __kmpc_unset_nest_lock = kmp::unset_nest_lock;
    __kmpc_test_nest_lock = kmp::test_nest_lock;
    __kmpc_critical = kmp::critical;
    __kmpc_critical_with_hint = kmp::critical;
    __kmpc_end_critical = kmp::end_critical;
    __kmpc_atomic_start = exclusive::atomic_start;
    __kmpc_atomic_end = exclusive::atomic_end;
    __kmpc_reduce = kmp::reduce;
    __kmpc_reduce_nowait = kmp::reduce;
    __kmpc_end_reduce = kmp::end_reduce;
    __kmpc_end_reduce_nowait = kmp::end_reduce_nowait;
    __kmpc_for_static_init_4 = kmp::static_init_4;
    __kmpc_for_static_init_4u = kmp::static_init_4u;
    __kmpc_for_static_init_8 = kmp::static_init_8;
    __kmpc_for_static_init_8u = kmp::static_init_8u;
    __kmpc_for_static_fini = kmp::nothing;
    __kmpc_dist_for_static_init_4 = kmp::dist_for_static_init_4;
    __kmpc_dist_for_static_init_4u = kmp::dist_for_static_init_4u;
    __kmpc_dist_for_static_init_8 = kmp::dist_for_static_init_8;
    __kmpc_dist_for_static_init_8u = kmp::dist_for_static_init_8u;
    __kmpc_dist_dispatch_init_4 = kmp::dist_dispatch_init_4;
    __kmpc_dist_dispatch_init_4u = kmp::dist_dispatch_init_4u;
    __kmpc_dist_dispatch_init_8 = kmp::dist_dispatch_init_8;
    __kmpc_dist_dispatch_init_8u = kmp::dist_dispatch_init_8u;
    __kmpc_team_static_init_4 = kmp::team_static_init_4;
    __kmpc_team_static_init_4u = kmp::team_static_init_4u;
    __kmpc_team_static_init_8 = kmp::team_static_init_8;
    __kmpc_team_static_init_8u = kmp::team_static_init_8u;
    __kmpc_dispatch_init_4 = kmp::dispatch_init_4;
    __kmpc_dispatch_init_4u = kmp::dispatch_init_4u;
    __kmpc_dispatch_init_8 = kmp::dispatch_init_8;
    __kmpc_dispatch_init_8u = kmp::dispatch_init_8u;
    __kmpc_dispatch_next_4 = kmp::dispatch_next_4;
    __kmpc_dispatch_next_4u = kmp::dispatch_next_4u;
    __kmpc_dispatch_next_8 = kmp::dispatch_next_8;
    __kmpc_dispatch_next_8u = kmp::dispatch_next_8u;
    __kmpc_dispatch_fini_4 = kmp::nothing;
    __kmpc_dispatch_fini_4u = kmp::nothing;
    __kmpc_dispatch_fini_8 = kmp::nothing;
    __kmpc_dispatch_fini_8u = kmp::nothing;
    __kmpc_dispatch_deinit = kmp::dispatch_deinit;
    __kmpc_ordered = kmp::ordered;
    __kmpc_end_ordered = kmp::nothing;
    __kmpc_doacross_init = kmp::doacross_init;
    __kmpc_doacross_wait = kmp::doacross_wait;
    __kmpc_doacross_post = kmp::doacross_post;
    __kmpc_doacross_fini = kmp::doacross_fini;
    __kmpc_threadprivate_register = kmp::threadprivate_register;
    __kmpc_threadprivate_cached = kmp::threadprivate_cached;
    __kmpc_threadprivate = kmp::threadprivate_cached;
    __kmpc_alloc = kmp::alloc;
    __kmpc_aligned_alloc = kmp::aligned_alloc;
    __kmpc_calloc = kmp::calloc;
    __kmpc_realloc = kmp::realloc;
    __kmpc_free = kmp::free;
    __kmpc_init_allocator = kmp::init_allocator;
    __kmpc_destroy_allocator = kmp::destroy_allocator;
    __kmpc_set_default_allocator = kmp::set_default_allocator_of;
    __kmpc_get_default_allocator = query::get_default_allocator;
    __kmpc_omp_task_alloc = kmp::task_alloc;
    __kmpc_omp_task = kmp::omp_task;
    __kmpc_omp_task_parts = kmp::omp_task;
    __kmpc_omp_task_with_deps = kmp::omp_task_with_deps;
    __kmpc_omp_task_begin_if0 = kmp::omp_task_begin_if0;
    __kmpc_omp_task_complete_if0 = kmp::omp_task_complete_if0;
    __kmpc_omp_wait_deps = kmp::omp_wait_deps;
    __kmpc_omp_taskwait = kmp::omp_taskwait;
    __kmpc_omp_taskwait_deps_51 = kmp::omp_wait_deps;
    __kmpc_omp_taskyield = kmp::omp_taskyield;
    __kmpc_omp_reg_task_with_affinity = kmp::omp_reg_task_with_affinity;
    __kmpc_taskgroup = task::taskgroup_start;
    __kmpc_end_taskgroup = task::taskgroup_end;
    __kmpc_taskloop = kmp::taskloop;
    __kmpc_taskloop_5 = kmp::taskloop_5;
    __kmpc_taskred_init = kmp::taskred_init;
    __kmpc_taskred_modifier_init = kmp::taskred_modifier_init;
    __kmpc_task_reduction_init = kmp::task_reduction_init;
    __kmpc_task_reduction_get_th_data = kmp::task_reduction_get_th_data;
    __kmpc_task_reduction_modifier_init = kmp::task_reduction_modifier_init;
    __kmpc_task_reduction_modifier_fini = kmp::task_reduction_modifier_fini;
    __kmpc_task_allow_completion_event = kmp::task_allow_completion_event;
    omp_get_thread_num = query::get_thread_num;
    omp_get_thread_num_ = query::get_thread_num;
    omp_get_num_threads = query::get_num_threads;
    omp_get_num_threads_ = query::get_num_threads;
    omp_get_max_threads = query::get_max_threads;
    omp_get_max_threads_ = query::get_max_threads;
    omp_get_num_procs = query::get_num_procs;
    omp_get_num_procs_ = query::get_num_procs;
    omp_in_parallel = query::in_parallel;
    omp_in_parallel_ = query::in_parallel;
    omp_get_level = query::get_level;
    omp_get_level_ = query::get_level;
    omp_get_active_level = query::get_active_level;
    omp_get_active_level_ = query::get_active_level;
    omp_get_dynamic = query::get_dynamic;
    omp_get_dynamic_ = query::get_dynamic;
    omp_get_max_active_levels = query::get_max_active_levels;
    omp_get_max_active_levels_ = query::get_max_active_levels;
    omp_get_supported_active_levels = query::get_supported_active_levels;
    omp_get_supported_active_levels_ = query::get_supported_active_levels;
    omp_get_nested = query::get_nested;
    omp_get_nested_ = query::get_nested;
    omp_get_thread_limit = query::get_thread_limit;
    omp_get_thread_limit_ = query::get_thread_limit;
    omp_get_cancellation = query::get_cancellation;
    omp_get_cancellation_ = query::get_cancellation;
    omp_get_max_task_priority = query::get_max_task_priority;
    omp_get_max_task_priority_ = query::get_max_task_priority;
    omp_in_final = query::in_final;
    omp_in_final_ = query::in_final;
    omp_in_explicit_task = query::in_explicit_task;
    omp_in_explicit_task_ = query::in_explicit_task;
    kmp_get_cancellation_status = entries::kmp_status;
    omp_get_num_teams = query::get_num_teams;
    omp_get_num_teams_ = query::get_num_teams;
    omp_get_team_num = query::get_team_num;
    omp_get_team_num_ = query::get_team_num;
    omp_fulfill_event = kmp::fulfill_event;
    omp_get_proc_bind = query::get_proc_bind;
    omp_get_proc_bind_ = query::get_proc_bind;
    omp_get_num_places = query::get_num_places;
    omp_get_num_places_ = query::get_num_places;
    omp_get_place_num = query::get_place_num;
    omp_get_place_num_ = query::get_place_num;
    omp_get_partition_num_places = query::get_partition_num_places;
    omp_get_partition_num_places_ = query::get_partition_num_places;
    omp_set_num_threads = query::set_num_threads;
    ompc_set_num_threads = query::set_num_threads;
    ompc_set_dynamic = query::set_dynamic;
    ompc_set_nested = query::set_nested;
    ompc_set_max_active_levels = query::set_max_active_levels;
    ompc_set_schedule = query::set_schedule;
    ompc_get_ancestor_thread_num = query::get_ancestor_thread_num;
    ompc_get_team_size = query::get_team_size;
    omp_set_num_threads_ = query::set_num_threads_;
    omp_set_num_threads_8_ = query::set_num_threads_8_;
    omp_set_dynamic = query::set_dynamic;
    omp_set_dynamic_ = query::set_dynamic_;
    omp_set_dynamic_8_ = query::set_dynamic_8_;
    omp_set_nested = query::set_nested;
    omp_set_nested_ = query::set_nested_;
    omp_set_nested_8_ = query::set_nested_8_;
    omp_set_max_active_levels = query::set_max_active_levels;
    omp_set_max_active_levels_ = query::set_max_active_levels_;
    omp_set_max_active_levels_8_ = query::set_max_active_levels_8_;
    omp_get_ancestor_thread_num = query::get_ancestor_thread_num;
    omp_get_ancestor_thread_num_ = query::get_ancestor_thread_num_;
    omp_get_ancestor_thread_num_8_ = query::get_ancestor_thread_num_8_;
    omp_get_team_size = query::get_team_size;
    omp_get_team_size_ = query::get_team_size_;
    omp_get_team_size_8_ = query::get_team_size_8_;
    omp_get_place_num_procs = query::get_place_num_procs;
    omp_get_place_num_procs_ = query::get_place_num_procs_;
    omp_get_place_num_procs_8_ = query::get_place_num_procs_8_;
    omp_set_schedule = query::set_schedule;
    omp_set_schedule_ = query::set_schedule_;
    omp_set_schedule_8_ = query::set_schedule_8_;
    omp_get_place_proc_ids = query::get_place_proc_ids;
    omp_get_place_proc_ids_ = query::get_place_proc_ids_;
    omp_get_place_proc_ids_8_ = query::get_place_proc_ids_8_;
    omp_get_schedule = query::get_schedule;
    omp_get_schedule_ = query::get_schedule;
    omp_get_schedule_8_ = query::get_schedule_8_;
    omp_get_partition_place_nums = query::get_partition_place_nums;
    omp_get_partition_place_nums_ = query::get_partition_place_nums;
    omp_get_partition_place_nums_8_ = query::get_partition_place_nums_8_;
    omp_display_affinity = query::display_affinity;
    omp_display_affinity_ = query::display_affinity_;
    omp_capture_affinity = query::capture_affinity;
    omp_capture_affinity_ = query::capture_affinity_;
    ompc_display_affinity = query::display_affinity_for_llvm;
    ompc_capture_affinity = query::capture_affinity_for_llvm;
    omp_get_default_device = query::get_default_device;
    omp_get_default_device_ = query::get_default_device;
    omp_set_default_device = query::set_default_device;
    omp_set_default_device_ = query::set_default_device_;
    omp_set_default_device_8_ = query::set_default_device_8_;
    omp_get_default_allocator = query::get_default_allocator;
    omp_get_default_allocator_ = query::get_default_allocator;
    omp_set_default_allocator = query::set_default_allocator;
    omp_set_default_allocator_ = query::set_default_allocator_;
    omp_alloc = query::alloc_by;
    omp_aligned_alloc = query::aligned_alloc_by;
    omp_calloc = query::calloc_by;
    omp_aligned_calloc = query::aligned_calloc_by;
    omp_realloc = query::realloc_by;
    GOMP_alloc = query::alloc_of_gcc;
    omp_pause_resource = query::pause_resource;
    omp_pause_resource_ = query::pause_resource_;
    omp_pause_resource_all = query::pause_resource_all;
    omp_pause_resource_all_ = query::pause_resource_all_;
    omp_init_lock = query::init_lock;
    omp_init_lock_ = query::init_lock;
    omp_init_lock_with_hint = query::init_lock_with_hint;
    omp_init_lock_with_hint_ = query::init_lock_with_hint;
    omp_init_nest_lock_with_hint = query::init_nest_lock_with_hint;
    omp_init_nest_lock = query::init_nest_lock;
    omp_init_nest_lock_ = query::init_nest_lock_;
    omp_destroy_lock = query::destroy_lock;
    omp_destroy_lock_ = query::destroy_lock;
    omp_destroy_nest_lock = query::destroy_nest_lock;
    omp_destroy_nest_lock_ = query::destroy_nest_lock_;
    omp_set_lock = query::set_lock;
    omp_set_lock_ = query::set_lock;
    omp_set_nest_lock = query::set_nest_lock;
    omp_set_nest_lock_ = query::set_nest_lock_;
    omp_unset_lock = query::unset_lock;
    omp_unset_lock_ = query::unset_lock;
    omp_unset_nest_lock = query::unset_nest_lock;
    omp_unset_nest_lock_ = query::unset_nest_lock_;
    omp_test_lock = query::test_lock;
    omp_test_lock_ = query::test_lock;
    omp_test_nest_lock = query::test_nest_lock;
    omp_test_nest_lock_ = query::test_nest_lock_;
}
