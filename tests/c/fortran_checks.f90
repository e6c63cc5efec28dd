! Counts failed checks of the tests in Fortran, and ends them.
module fortran_checks
  use mpi
  use tessera
  implicit none
  integer, private :: failures = 0

contains

  ! Prints the check, the rank in MPI_COMM_WORLD and the last error, unless it holds.
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    integer :: rank, ierr
    if (holds) return
    failures = failures + 1
    call mpi_comm_rank(mpi_comm_world, rank, ierr)
    print *, "rank", rank, ": ", what, ": ", tessera_error_message()
  end subroutine

  ! Finalizes MPI and stops, with an error if a check has failed on any rank.
  subroutine finish()
    integer :: total, ierr
    call mpi_allreduce(failures, total, 1, mpi_integer, mpi_sum, mpi_comm_world, ierr)
    call mpi_finalize(ierr)
    if (total > 0) error stop 1
  end subroutine
end module
