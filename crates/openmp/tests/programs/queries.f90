! Fortran's forms of what programs ask and set, and a few constructs.
program queries
  use omp_lib
  implicit none
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  integer(omp_sched_kind) :: kind
  integer :: chunk, i, depth
  integer(8) :: total
  logical :: free
  call omp_set_dynamic(.false.)
  call omp_set_num_threads(3)
  call omp_set_max_active_levels(2)
  call omp_set_schedule(omp_sched_dynamic, 4)
  call omp_get_schedule(kind, chunk)
  print *, 'settings', omp_get_dynamic(), omp_get_max_threads(), omp_get_max_active_levels(), kind, chunk
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  total = 0
  !$omp parallel private(depth)
  !$omp do schedule(runtime) reduction(+:total)
  do i = 1, 1000
     total = total + i
  end do
  !$omp end do
  call omp_set_lock(lock)
  total = total + 1
  call omp_unset_lock(lock)
  call omp_set_nest_lock(nest)
  depth = omp_test_nest_lock(nest)
  total = total + depth
  call omp_unset_nest_lock(nest)
  call omp_unset_nest_lock(nest)
  !$omp barrier
  !$omp single
  print *, 'within', omp_get_num_threads(), omp_in_parallel(), omp_get_level(), omp_get_team_size(1), total
  !$omp end single
  !$omp end parallel
  free = omp_test_lock(lock)
  print *, 'lock', free, omp_get_ancestor_thread_num(0), omp_get_ancestor_thread_num(4)
  call omp_unset_lock(lock)
  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest)
  total = 0
  !$omp parallel workshare
  total = sum((/ (int(i, 8), i = 1, 100) /))
  !$omp end parallel workshare
  print *, 'workshare', total
  call omp_set_num_teams(3)
  call omp_set_teams_thread_limit(5)
  print *, 'teams', omp_get_max_teams(), omp_get_teams_thread_limit(), omp_get_num_teams(), omp_get_team_num()
  print *, 'pause', omp_pause_resource(omp_pause_soft, omp_get_initial_device()), &
    omp_pause_resource_all(omp_pause_hard)
  !$omp parallel reduction(+ : total)
  total = total + omp_get_num_threads()
  !$omp end parallel
  print *, 'again', total
end program queries
