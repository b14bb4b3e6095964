! Where threads run, as Fortran programs ask for it.
program affinity
  use omp_lib
  implicit none
  character(len=30) :: text
  character(len=12) :: texts(0:1)
  integer :: length
  call omp_set_affinity_format('level %L, %n of %N')
  length = omp_get_affinity_format(text)
  print *, length, '[', text, ']'
  length = omp_capture_affinity(text, '')
  print *, length, '[', text, ']'
  length = omp_capture_affinity(text, '%0.3n %{ancestor_tnum} {%A}')
  print *, length, '[', text, ']'
  length = omp_capture_affinity(text(1:4), '%n and more')
  print *, length, '[', text(1:4), ']'
  !$omp parallel num_threads(2)
  length = omp_capture_affinity(texts(omp_get_thread_num()), '%n of %N')
  !$omp end parallel
  print *, texts
  call omp_display_affinity('shown %n')
  call omp_display_affinity('')
end program affinity
