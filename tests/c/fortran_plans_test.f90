! Block-cyclic layouts and plans of exchanges in Fortran, on the ranks of MPI_COMM_WORLD.
program fortran_plans_test
  use mpi
  use tessera
  use fortran_checks
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: r8 = c_double, i8 = c_int64_t
  type(tessera_context) :: context
  integer :: rank, ranks, ierr
  call mpi_init(ierr)
  call tessera_context_create(mpi_comm_world, context, ierr)
  call check(ierr == tessera_ok, "context")
  call tessera_context_rank(context, rank, ierr)
  call tessera_context_size(context, ranks, ierr)
  call test_cyclic()
  call test_permute()
  call test_halo()
  call tessera_context_free(context, ierr)
  call finish()

contains

  ! Blocks of 2 columns in turn, to even blocks of columns: element (i, j) is 100 j + i.
  subroutine test_cyclic()
    type(tessera_layout) :: cyclic, blocks
    real(r8), allocatable :: a(:, :), b(:, :), small(:, :)
    integer :: rows, cols, box(4), i, j, n
    n = 4 * ranks + 1
    call tessera_layout_cyclic(context, 5, n, [5, 2], [1, ranks], cyclic, ierr)
    call check(ierr == tessera_ok, "layout_cyclic")
    call tessera_layout_grid(context, 5, n, blocks, ierr, grid_rows=1, grid_cols=ranks)
    call tessera_layout_local(cyclic, rank, rows, cols, ierr)
    call check(ierr == tessera_ok .and. rows == 5, "layout_local")
    call tessera_layout_box_of(blocks, rank, box, ierr)
    allocate (a(rows, cols), b(5, box(4) - box(3) + 1), small(rows, cols - 1))
    do j = 1, cols
      a(:, j) = 100 * (((j - 1) / 2 * ranks + rank) * 2 + mod(j - 1, 2) + 1) + [(i, i=1, 5)]
    end do
    call tessera_redistribute(context, cyclic, a, blocks, b, ierr)
    call check(ierr == tessera_ok, "redistribute")
    do j = 1, size(b, 2)
      call check(all(b(:, j) == 100 * (box(3) + j - 1) + [(i, i=1, 5)]), "redistributed")
    end do
    small = 0
    call tessera_redistribute(context, cyclic, small, blocks, b, ierr)
    call check(ierr == tessera_usage, "an array that is too small")
    call check(index(tessera_error_message(), "a ") == 1, "names a")
    call tessera_layout_cyclic(context, 5, n, [5, 2], [1, ranks], cyclic, ierr, source=[0, ranks])
    call check(ierr == tessera_usage .and. index(tessera_error_message(), "col_source ") == 1, &
        "col_source")
    call tessera_layout_free(blocks, ierr)
    call tessera_layout_free(cyclic, ierr)
  end subroutine

  ! The transpose of a matrix in slabs of columns: the axes of C in the reverse order.
  subroutine test_permute()
    integer(c_intptr_t), target :: plan
    integer(i8), target :: extents(2), low_a(2), high_a(2), low_b(2), high_b(2)
    integer(c_int), target :: axes(2), slabs(2)
    real(r8), allocatable, target :: a(:, :), b(:, :)
    integer :: i, j
    extents = [2 * ranks + 1, 7]
    axes = [1, 0]
    slabs = [ranks, 1]
    ierr = tessera_permute_plan_create_c(context%handle, tessera_f64, 2, c_loc(extents), &
        c_loc(axes), c_loc(slabs), c_loc(slabs), c_null_ptr, c_loc(plan))
    call check(ierr == tessera_ok, "permute_plan_create")
    ierr = tessera_permute_plan_boxes_c(plan, c_loc(low_a), c_loc(high_a), c_loc(low_b), &
        c_loc(high_b))
    call check(ierr == tessera_ok, "permute_plan_boxes")
    allocate (a(7, high_a(1) - low_a(1)), b(extents(1), high_b(1) - low_b(1)))
    do j = 1, size(a, 2)
      a(:, j) = 100 * (low_a(1) + j) + [(i, i=1, 7)]
    end do
    ierr = tessera_permute_plan_start_c(plan, address(a), address(b))
    if (ierr == tessera_ok) ierr = tessera_permute_plan_wait_c(plan)
    call check(ierr == tessera_ok, "permute_plan")
    do j = 1, size(b, 2)
      call check(all(b(:, j) == [(100 * i, i=1, size(b, 1))] + low_b(1) + j), "permuted")
    end do
    ierr = tessera_permute_plan_free_c(c_loc(plan))
  end subroutine

  ! A ring of ranks with two points each, and a ghost point on both sides.
  subroutine test_halo()
    integer(c_intptr_t), target :: plan
    integer(i8), target :: extents(1), widths(1)
    integer(c_int), target :: grid(1)
    character(kind=c_char), target :: boundary(9)
    real(r8), target :: u(0:3)
    type(c_ptr), target :: fields(1)
    integer :: k
    extents = 2 * ranks
    widths = 1
    grid = ranks
    boundary = [(char(0, c_char), k=1, 9)]
    boundary(1:8) = ["p", "e", "r", "i", "o", "d", "i", "c"]
    ierr = tessera_halo_plan_create_c(context%handle, tessera_f64, 1, c_loc(extents), &
        c_loc(widths), c_loc(grid), c_loc(boundary), 0.0_r8, 1, c_null_ptr, c_loc(plan))
    call check(ierr == tessera_ok, "halo_plan_create")
    u = [-1, 2 * rank, 2 * rank + 1, -1]
    fields(1) = c_loc(u(1))
    ierr = tessera_halo_plan_start_c(plan, c_loc(fields), c_null_ptr)
    if (ierr == tessera_ok) ierr = tessera_halo_plan_wait_c(plan)
    call check(ierr == tessera_ok, "halo_plan")
    call check(int(u(0)) == mod(2 * (rank + ranks) - 1, 2 * ranks) .and. &
        int(u(3)) == mod(2 * rank + 2, 2 * ranks), "ghost points")
    ierr = tessera_halo_plan_free_c(c_loc(plan))
  end subroutine

  function address(x) result(at)
    real(r8), intent(in), contiguous, target :: x(:, :)
    type(c_ptr) :: at
    at = c_null_ptr
    if (size(x) > 0) at = c_loc(x)
  end function
end program
