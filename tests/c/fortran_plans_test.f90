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
  call test_relayouts()
  call test_wrong_relayouts()
  call test_permute()
  call test_halos()
  call test_freed()
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

  ! The element of a global matrix.
  elemental function value(i, j) result(x)
    integer, intent(in) :: i, j
    real(r8) :: x
    x = 100 * i + j
  end function

  ! Sets a to this rank's part of the matrix, in blocks of columns, plus a number.
  subroutine fill(layout, a, plus)
    type(tessera_layout), intent(in) :: layout
    real(r8), allocatable, intent(out) :: a(:, :)
    real(r8), intent(in) :: plus
    integer :: box(4), i, j
    call tessera_layout_box_of(layout, rank, box, ierr)
    allocate (a(box(1):box(2), box(3):box(4)))
    do j = box(3), box(4)
      a(:, j) = [(value(i, j) + plus, i=box(1), box(2))]
    end do
  end subroutine

  ! Two matrices in one message: c = 2 a^T - c, and d = b in blocks of rows; and one of 16 bits.
  subroutine test_relayouts()
    type(tessera_layout) :: of_a, of_b, of_c, of_d
    type(tessera_relayout_plan) :: plan
    real(r8), allocatable, target :: a(:, :), b(:, :), c(:, :), d(:, :)
    integer(c_int16_t), allocatable, target :: s(:, :), t(:, :)
    integer(i8) :: bytes
    integer :: i, j
    call tessera_layout_grid(context, 5, 3 * ranks, of_a, ierr, grid_rows=1, grid_cols=ranks)
    call tessera_layout_grid(context, 7, 2 * ranks - 1, of_b, ierr, grid_rows=1, grid_cols=ranks)
    call tessera_layout_grid(context, 3 * ranks, 5, of_c, ierr, grid_rows=1, grid_cols=ranks)
    call tessera_layout_grid(context, 7, 2 * ranks - 1, of_d, ierr, grid_rows=ranks, grid_cols=1)
    call fill(of_a, a, 0.0_r8)
    call fill(of_b, b, 0.0_r8)
    call fill(of_c, c, 3.0_r8)
    call fill(of_d, d, 9.0_r8)
    call tessera_relayout_plan_create(context, [of_a, of_b], [of_c, of_d], plan, ierr, &
        op=[tessera_trans, tessera_no_trans])
    call check(ierr == tessera_ok, "relayout_plan_create")
    call tessera_relayout_plan_bytes(plan, bytes, ierr)
    call check(ierr == tessera_ok .and. (bytes > 0 .or. ranks == 1), "relayout_plan_bytes")
    call tessera_relayout_plan_start(plan, [tessera_array(a, 2.0_r8), tessera_array(b)], &
        [tessera_array(c, -1.0_r8), tessera_array(d)], ierr)
    call check(ierr == tessera_ok, "relayout_plan_start")
    call tessera_relayout_plan_wait(plan, ierr)
    call check(ierr == tessera_ok, "relayout_plan_wait")
    do j = lbound(c, 2), ubound(c, 2)
      call check(all(c(:, j) == [(2 * value(j, i) - value(i, j) - 3, i=lbound(c, 1), &
          ubound(c, 1))]), "turned")
    end do
    do j = lbound(d, 2), ubound(d, 2)
      call check(all(d(:, j) == [(value(i, j), i=lbound(d, 1), ubound(d, 1))]), "moved")
    end do
    call tessera_relayout_plan_free(plan, ierr)
    call check(ierr == tessera_ok, "relayout_plan_free")
    s = int(b, c_int16_t)
    allocate (t, mold=int(d, c_int16_t))
    call tessera_relayout_plan_create(context, of_b, of_d, plan, ierr, kind=tessera_i16)
    call tessera_relayout_plan_start(plan, s, t, ierr)
    if (ierr == tessera_ok) call tessera_relayout_plan_wait(plan, ierr)
    call check(ierr == tessera_ok .and. all(t == int(d, c_int16_t)), "moved words of 16 bits")
    call tessera_relayout_plan_free(plan, ierr)
    call tessera_layout_free(of_a, ierr)
    call tessera_layout_free(of_b, ierr)
    call tessera_layout_free(of_c, ierr)
    call tessera_layout_free(of_d, ierr)
  end subroutine

  ! All ranks refuse a call in which the last one passes a wrong array, and no element is written.
  subroutine refused(name, what)
    character(*), intent(in) :: name, what
    call check(ierr == tessera_usage, what)
    call check(index(tessera_error_message(), name) == 1, what // " names " // name)
  end subroutine

  subroutine test_wrong_relayouts()
    type(tessera_layout) :: cols
    type(tessera_relayout_plan) :: plan, two
    type(tessera_array_description) :: from, to
    real(r8), target :: a(4, 2), b(0:9, 4), out(4, 2), short(4, 1), cube(4, 2, 1)
    real(c_float), target :: single(4, 2)
    integer(c_int32_t), target :: whole(4, 2)
    logical :: last
    last = rank == ranks - 1
    a = 1
    b = 7
    out = 7
    single = 1
    cube = 1
    short = 1
    whole = 1
    call tessera_layout_grid(context, 4, 2 * ranks, cols, ierr, grid_rows=1, grid_cols=ranks)
    call tessera_relayout_plan_create(context, cols, cols, plan, ierr)
    call tessera_relayout_plan_create(context, [cols, cols], [cols, cols], two, ierr)
    call check(ierr == tessera_ok, "two matrices")
    from = tessera_array(a)
    if (last) from = tessera_array(short)
    call tessera_relayout_plan_start(plan, [from], [tessera_array(out)], ierr)
    call refused("a", "an array that is too small")
    if (last) from = tessera_array(single)
    call tessera_relayout_plan_start(plan, [from], [tessera_array(out)], ierr)
    call refused("a", "an array of another type")
    if (last) from = tessera_array(cube)
    call tessera_relayout_plan_start(plan, [from], [tessera_array(out)], ierr)
    call refused("a", "an array of another rank")
    to = tessera_array(out)
    if (last) to = tessera_array(b(0:3, 1:2))
    call tessera_relayout_plan_start(plan, [tessera_array(a)], [to], ierr)
    call refused("b", "an array with gaps")
    call tessera_relayout_plan_start(plan, whole, whole, ierr)
    call refused("a", "integers")
    call check(all(b == 7) .and. all(out == 7), "nothing is written")
    call tessera_relayout_plan_start(two, [tessera_array(a)], [tessera_array(out)], ierr)
    call refused("a", "too few arrays")
    call tessera_relayout_plan_start(plan, [tessera_array(a), tessera_array(a)], &
        [tessera_array(out)], ierr)
    call refused("a", "too many arrays")
    call tessera_relayout_plan_free(plan, ierr)
    call tessera_relayout_plan_free(two, ierr)
    call tessera_relayout_plan_create(context, [cols, cols], [cols], plan, ierr)
    call refused("layout_b", "too few layouts")
    call tessera_relayout_plan_create(context, [cols], [cols], plan, ierr, op=[111, 111])
    call refused("op", "too many ops")
    call tessera_layout_free(cols, ierr)
  end subroutine

  ! b(k, i, j) = a(i, j, k), from slabs of the second axis of a to those of its third one.
  subroutine test_permute()
    type(tessera_permute_plan) :: plan
    complex(r8), allocatable, target :: a(:, :, :), b(:, :, :), wrong(:, :, :)
    real(r8), allocatable, target :: single(:, :, :)
    integer :: fa(3), la(3), fb(3), lb(3), i, j, k
    integer(i8) :: bytes
    call tessera_permute_plan_create(context, [3, 2 * ranks + 1, ranks + 2], [3, 1, 2], &
        [1, ranks, 1], [ranks, 1, 1], plan, ierr, kind=tessera_c128)
    call check(ierr == tessera_ok, "permute_plan_create")
    call tessera_permute_plan_boxes(plan, fa, la, fb, lb, ierr)
    call check(all([la - fa + 1] >= 0) .and. lb(3) == 2 * ranks + 1, "permute_plan_boxes")
    call tessera_permute_plan_bytes(plan, bytes, ierr)
    call check(ierr == tessera_ok .and. bytes >= 0, "permute_plan_bytes")
    allocate (a(fa(1):la(1), fa(2):la(2), fa(3):la(3)), b(fb(1):lb(1), fb(2):lb(2), fb(3):lb(3)))
    do k = fa(3), la(3)
      do j = fa(2), la(2)
        a(:, j, k) = [(cmplx(i, 100 * j + k, r8), i=1, 3)]
      end do
    end do
    call tessera_permute_plan_start(plan, a, b, ierr)
    call check(ierr == tessera_ok, "permute_plan_start")
    call tessera_permute_plan_wait(plan, ierr)
    call check(ierr == tessera_ok, "permute_plan_wait")
    do j = fb(3), lb(3)
      do i = fb(2), lb(2)
        call check(all(b(:, i, j) == [(cmplx(i, 100 * j + k, r8), k=fb(1), lb(1))]), "permuted")
      end do
    end do
    allocate (wrong(size(b, 1), size(b, 2), size(b, 3) - merge(1, 0, rank == ranks - 1)))
    wrong = 7
    call tessera_permute_plan_start(plan, a, wrong, ierr)
    call refused("b", "a result that is too small")
    call check(all(wrong == 7), "nothing is written")
    call tessera_permute_plan_start(plan, a(:, :, ::2), b, ierr)
    call refused("a", "an operand with gaps")
    allocate (single(size(a, 1), size(a, 2), size(a, 3)))
    call tessera_permute_plan_start(plan, single, single, ierr)
    call refused("a", "real numbers")
    call tessera_permute_plan_free(plan, ierr)
    call check(ierr == tessera_ok, "permute_plan_free")
    call tessera_permute_plan_create(context, [4, 5], [2, 1, 3], [1, 1], [1, 1], plan, ierr)
    call refused("axes", "too many axes")
  end subroutine

  ! Two fields of whole numbers around a torus, the first with the number of its point.
  subroutine test_halos()
    type(tessera_halo_plan) :: plan
    real(r8), allocatable, target :: u(:, :), v(:, :), wrong(:, :)
    integer :: first(2), last(2), n(2), i, j
    integer(i8) :: bytes
    n = [6, 3 * ranks]
    call tessera_halo_plan_create(context, n, [1, 2], plan, ierr, grid=[1, ranks], &
        boundary="periodic", fields=2)
    call check(ierr == tessera_ok, "halo_plan_create")
    call tessera_halo_plan_box(plan, first, last, ierr)
    call check(all(last - first + 1 == [6, 3]), "halo_plan_box")
    call tessera_halo_plan_bytes(plan, bytes, ierr)
    call check(ierr == tessera_ok .and. (bytes > 0 .or. ranks == 1), "halo_plan_bytes")
    allocate (u(first(1) - 1:last(1) + 1, first(2) - 2:last(2) + 2))
    u = -1
    do j = first(2), last(2)
      u(first(1):last(1), j) = [(value(i, j), i=first(1), last(1))]
    end do
    v = 2 * u
    call tessera_halo_plan_start(plan, [tessera_array(u), tessera_array(v)], ierr)
    call check(ierr == tessera_ok, "halo_plan_start")
    call tessera_halo_plan_wait(plan, ierr)
    call check(ierr == tessera_ok, "halo_plan_wait")
    do j = first(2) - 2, last(2) + 2
      call check(all(u(:, j) == [(value(modulo(i - 1, n(1)) + 1, modulo(j - 1, n(2)) + 1), &
          i=first(1) - 1, last(1) + 1)]), "ghost layers")
    end do
    call check(all(v == 2 * u), "those of the second field")
    allocate (wrong(6, merge(7, 3, rank < ranks - 1)))  ! the box alone
    wrong = 7
    call tessera_halo_plan_start(plan, [tessera_array(u), tessera_array(wrong)], ierr)
    call refused("field", "a field without ghost layers")
    call check(all(wrong == 7), "nothing is written")
    call tessera_halo_plan_start(plan, [tessera_array(u)], ierr)
    call refused("field", "one field of two")
    call tessera_halo_plan_start(plan, u, ierr)
    call refused("field", "one array of two")
    call tessera_halo_plan_free(plan, ierr)
    call check(ierr == tessera_ok, "halo_plan_free")
    call tessera_halo_plan_create(context, n, [1, 1, 1], plan, ierr)
    call refused("widths", "too many widths")
    call tessera_halo_plan_create(context, n, [1, 1], plan, ierr, grid=[1, 1, 1])
    call refused("grid", "too many extents of the grid")
    call test_line()
  end subroutine

  ! A field of bytes with one dimension, which ends at 9 on both sides.
  subroutine test_line()
    type(tessera_halo_plan) :: plan
    integer(c_int8_t), target :: u(0:3)
    call tessera_halo_plan_create(context, [2 * ranks], [1], plan, ierr, kind=tessera_i8, &
        grid=[ranks], boundary="constant", boundary_value=9.0_r8)
    call check(ierr == tessera_ok, "halo of bytes")
    u = int([-1, 2 * rank, 2 * rank + 1, -1], c_int8_t)
    call tessera_halo_plan_start(plan, u, ierr)
    if (ierr == tessera_ok) call tessera_halo_plan_wait(plan, ierr)
    call check(ierr == tessera_ok .and. all(u == [merge(9, 2 * rank - 1, rank == 0), 2 * rank, &
        2 * rank + 1, merge(9, 2 * rank + 2, rank == ranks - 1)]), "ghost points")
    call tessera_halo_plan_free(plan, ierr)
  end subroutine

  ! Plans that were not made are refused.
  subroutine test_freed()
    type(tessera_relayout_plan) :: relayout
    type(tessera_permute_plan) :: turn
    type(tessera_halo_plan) :: halo
    real(r8), target :: a(2, 2), b(2, 2)
    a = 1
    b = 1
    call tessera_relayout_plan_start(relayout, a, b, ierr)
    call refused("plan", "no relayout")
    call tessera_permute_plan_start(turn, a, b, ierr)
    call refused("plan", "no permutation")
    call tessera_halo_plan_start(halo, a, ierr)
    call refused("plan", "no halo")
  end subroutine
end program
