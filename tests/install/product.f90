program product
  use tessera
  implicit none
  real(8) :: a(2, 3), b(3, 2), c(2, 2)
  integer :: ierr
  a = reshape([1, 4, 2, 5, 3, 6], [2, 3])
  b = reshape([1, 3, 5, 2, 4, 6], [3, 2])
  call tessera_matmul(a, b, c, ierr)
  if (ierr /= tessera_ok) then
    print *, tessera_error_message()
    error stop 1
  end if
  print "(4(g0, 1x))", nint(transpose(c))
end program product
