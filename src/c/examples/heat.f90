! A heat equation with the caller's own code between steps: heat STEPS
!
! The mode cos(2 pi x / nx) of a periodic field decays by a factor in each step of the stencil heat,
! and a source adds to it between steps, so that its amplitude is known. Prints the largest
! difference, and fails if it is not rounding error.
program heat
  use mpi
  use tessera
  use, intrinsic :: iso_c_binding, only: c_double
  implicit none
  integer, parameter :: nx = 96, ny = 64
  real(c_double), parameter :: source = 0.01_c_double, pi = acos(-1.0_c_double)
  type(tessera_context) :: context
  type(tessera_field) :: field
  real(c_double), pointer :: u(:, :)
  real(c_double) :: mode(nx), factor, amplitude, difference, largest
  integer :: first(2), last(2), step, steps, rank, ierr, x
  character(20) :: argument

  call mpi_init(ierr)
  call tessera_context_create(mpi_comm_world, context, ierr)
  call check()
  call tessera_context_rank(context, rank, ierr)
  steps = 100
  call get_command_argument(1, argument)
  if (argument /= "") read (argument, *) steps

  call tessera_field_create(context, [nx, ny], "heat", field, ierr, boundary="periodic", &
      options="steps=1")
  call check()
  call tessera_field_box(field, first, last, ierr)  ! of this rank, in indices of the whole field
  call check()
  mode = [(cos(2 * pi * x / nx), x=1, nx)]
  call add(1.0_c_double)
  amplitude = 1
  factor = 1 - (1 - cos(2 * pi / nx)) / 4  ! 1/2 here and 1/8 of each of four neighbours
  do step = 1, steps
    call tessera_field_advance(field, 1, ierr)
    call check()
    call add(source)
    amplitude = factor * amplitude + source
  end do

  call tessera_field_pointer(field, u, ierr)
  call check()
  difference = 0
  do x = first(1), last(1)
    difference = max(difference, maxval(abs(u(x - first(1) + 1, :) - amplitude * mode(x))))
  end do
  call mpi_allreduce(difference, largest, 1, mpi_double_precision, mpi_max, mpi_comm_world, ierr)
  if (rank == 0) print "(a, f9.6, a, es8.1)", "amplitude ", amplitude, &
      ", largest difference ", largest
  call tessera_field_free(field, ierr)
  call tessera_context_free(context, ierr)
  call mpi_finalize(ierr)
  if (.not. largest < 1e-12_c_double * max(1.0_c_double, amplitude)) error stop 1

contains

  ! Adds that much of the mode to this rank's box.
  subroutine add(amount)
    real(c_double), intent(in) :: amount
    integer :: column
    call tessera_field_pointer(field, u, ierr)
    call check()
    do column = 1, size(u, 2)
      u(:, column) = u(:, column) + amount * mode(first(1):last(1))
    end do
  end subroutine

  subroutine check()
    if (ierr == tessera_ok) return
    print *, "heat: ", tessera_error_message()
    error stop 1
  end subroutine

end program heat
