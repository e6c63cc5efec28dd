! The Fortran module against intrinsic functions, at random shapes: on the ranks of MPI_COMM_WORLD
! but the last one, which waits, if there are several.
program fortran_test
  use mpi
  use tessera
  use fortran_checks
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: r4 = c_float, r8 = c_double, i4 = c_int32_t, i8 = c_int64_t
  type(tessera_context) :: context
  integer :: world, part, rank, ranks, all_ranks, ierr, trial
  call mpi_init(ierr)
  call mpi_comm_rank(mpi_comm_world, world, ierr)
  call mpi_comm_size(mpi_comm_world, all_ranks, ierr)
  call mpi_comm_split(mpi_comm_world, merge(0, 1, world == all_ranks - 1 .and. all_ranks > 1), &
      -world, part, ierr)
  if (world < all_ranks - 1 .or. all_ranks == 1) then
    call seed()
    do trial = 1, 20
      call test_local()
      call test_stencil()
    end do
    call tessera_context_create(part, context, ierr)
    call check(ierr == tessera_ok, "context")
    call tessera_context_rank(context, rank, ierr)
    call tessera_context_size(context, ranks, ierr)
    call check(ranks == max(1, all_ranks - 1), "ranks")
    do trial = 1, 10
      call test_matrices()
      call test_keys()
      call test_field()
    end do
    call test_file()
    call test_wrong()
    call tessera_context_free(context, ierr)
    call check(ierr == tessera_ok, "free")
  end if
  call finish()

contains

  subroutine seed()
    integer :: n
    call random_seed(size=n)
    block
      integer :: values(n)
      values = 4711
      call random_seed(put=values)
    end block
  end subroutine

  function below(n) result(number)
    integer, intent(in) :: n
    integer :: number
    real(r8) :: x
    call random_number(x)
    number = int(x * n)
  end function

  ! Whole numbers, the same on every rank.
  subroutine fill(x)
    real(r8), intent(out) :: x(:, :)
    call random_number(x)
    x = floor(9 * x) - 4
  end subroutine

  subroutine test_local()
    real(r8), allocatable :: a(:, :), b(:, :), c(:, :), t(:, :), wide(:, :)
    complex(r8), allocatable :: ca(:, :), cc(:, :)
    real(r4), allocatable :: s(:, :), st(:, :), ss(:, :)
    real(r8), allocatable :: keys(:)
    integer(i4), allocatable :: numbers(:)
    integer(c_int8_t), allocatable :: bytes(:), sorted(:)
    integer(i8), allocatable :: order(:)
    integer :: m, n, k, i
    m = 1 + below(30)
    n = 1 + below(30)
    k = 1 + below(30)
    allocate (a(m, k), b(k, n), c(m, n), t(k, m), wide(2 * m, n), keys(0:5000), numbers(n))
    call fill(a)
    call fill(b)
    c = 1
    call tessera_matmul(a, b, c, ierr)
    call check(ierr == tessera_ok .and. all(c == matmul(a, b)), "matmul")
    call tessera_matmul(a, b, c, ierr, alpha=2.0_r8, beta=-1.0_r8, options="threads=2")
    call check(ierr == tessera_ok .and. all(c == matmul(a, b)), "alpha and beta")
    call tessera_transpose(a, t, ierr)
    call check(ierr == tessera_ok .and. all(t == transpose(a)), "transpose")
    call tessera_matmul(t, b, c, ierr, op_a=tessera_trans)
    call check(ierr == tessera_ok .and. all(c == matmul(a, b)), "op_a")
    wide = 7
    call tessera_matmul(a, b, wide(2::2, :), ierr)  ! every second row
    call check(all(wide(2::2, :) == c) .and. all(wide(1::2, :) == 7), "sections")
    ca = cmplx(a, 2 * a, r8)
    allocate (cc(m, m))
    call tessera_matmul(ca, ca, cc, ierr, op_b=tessera_conj_trans)
    call check(ierr == tessera_ok .and. all(cc == matmul(ca, conjg(transpose(ca)))), "complex")
    s = real(a, r4)
    allocate (st(k, m), ss(k, k))
    call tessera_transpose(s, st, ierr, alpha=3.0_r8)
    call tessera_matmul(st, s, ss, ierr)
    call check(all(ss == 3 * matmul(transpose(s), s)), "real(4)")
    call random_number(keys)
    allocate (order(size(keys)))
    call tessera_argsort(keys, order, ierr)
    call check(all(keys(order(2:) - 1) >= keys(order(:5000) - 1)), "argsort")
    call tessera_sort(keys, ierr, direction=tessera_descending)
    call check(ierr == tessera_ok .and. all(keys(1:) <= keys(:4999)), "sort")
    numbers = [(mod(7 * i, 5), i=1, n)]
    call tessera_sort(numbers, ierr)
    call check(all(numbers(2:) >= numbers(:n - 1)), "sort integers")
    bytes = [(int(mod(37 * i, 251) - 125, c_int8_t), i=1, 999)]
    deallocate (order)
    allocate (order(size(bytes)))
    call tessera_argsort(bytes, order, ierr, direction=tessera_descending)
    sorted = bytes(order)
    call check(all(sorted(2:) <= sorted(:998)) .and. minval(sorted) < 0, "argsort of 8 bits")
    call tessera_sort(bytes, ierr, direction=tessera_descending)
    call check(ierr == tessera_ok .and. all(bytes == sorted), "sort of 8 bits")
  end subroutine

  ! The mean of four neighbours, of which the longer weights are in the first dimension.
  subroutine test_stencil()
    real(r8) :: u(13, 7), v(13, 7), weights(5, 3), line(9), cube(4, 5, 6)
    call fill(u)
    weights = 0
    weights(1, 2) = 1
    weights(3, 3) = 2
    v = cshift(u, -2, 1) + 2 * cshift(u, 1, 2)
    call tessera_advance(u, 1, ierr, weights=weights, boundary="periodic")
    call check(ierr == tessera_ok .and. all(u == v), "advance")
    line = 3
    cube = 5
    call tessera_advance(line, 10, ierr, name="heat")
    call check(ierr == tessera_ok .and. all(abs(line - 3) < 1e-12_r8), "heat of a line")
    call tessera_advance(cube, 3, ierr, name="heat", boundary="constant", boundary_value=5.0_r8)
    call check(ierr == tessera_ok .and. all(abs(cube - 5) < 1e-12_r8), "heat of a cube")
  end subroutine

  subroutine local_part(layout, whole, here)
    type(tessera_layout), intent(in) :: layout
    real(r8), intent(in) :: whole(:, :)
    real(r8), allocatable, intent(out) :: here(:, :)
    integer :: box(4)
    call tessera_layout_box_of(layout, rank, box, ierr)
    here = whole(box(1):box(2), box(3):box(4))
  end subroutine

  ! Products by a plan: c = 2 a^T b - c of c = a^T b, twice.
  subroutine test_plan(la, lb, lc, a, b, want)
    type(tessera_layout), intent(in) :: la, lb, lc
    real(r8), intent(in) :: a(:, :), b(:, :), want(:, :)
    type(tessera_matmul_plan) :: plan
    real(r8), allocatable :: c(:, :)
    integer(c_int64_t) :: bytes
    integer :: i
    call tessera_matmul_plan_create(context, la, lb, lc, plan, ierr, op_a=tessera_trans)
    call check(ierr == tessera_ok, "plan")
    call tessera_matmul_plan_bytes(plan, bytes, ierr)
    call check(ierr == tessera_ok .and. bytes >= 0, "bytes of a plan")
    c = want
    do i = 1, 2
      call tessera_matmul_plan_execute(plan, a, b, c, ierr, alpha=2.0_r8, beta=-1.0_r8)
      call check(ierr == tessera_ok .and. all(c == want), "product by a plan")
    end do
    call tessera_matmul_plan_execute(plan, a, b, c(:, 2:), ierr)
    call check((ierr == tessera_usage) .and. index(tessera_error_message(), "c ") == 1, "shape")
    call tessera_matmul_plan_free(plan, ierr)
    call check(ierr == tessera_ok .and. plan%handle == 0, "free a plan")
  end subroutine

  subroutine test_matrices()
    type(tessera_layout) :: la, lb, lc, lt
    real(r8), allocatable :: a(:, :), b(:, :), x(:, :), y(:, :), z(:, :), t(:, :), want(:, :)
    integer :: m, n, k, first, last, r, box(4)
    m = 1 + below(30)
    n = 1 + below(30)
    k = 1 + below(30)
    allocate (a(m, k), b(k, n))
    call fill(a)
    call fill(b)
    call tessera_layout_grid(context, m, k, la, ierr, grid_rows=1, grid_cols=ranks)
    first = 1  ! columns of b, unevenly many on each rank
    do r = 0, ranks - 1
      last = merge(n, min(n, first + below(n) - 1), r == ranks - 1)
      if (r == rank) box = [1, k, first, last]
      first = last + 1
    end do
    call tessera_layout_box(context, k, n, box, lb, ierr)
    call check(ierr == tessera_ok, "layout_box")
    call tessera_layout_grid(context, m, n, lc, ierr)
    call tessera_layout_grid(context, k, m, lt, ierr)
    call local_part(la, a, x)
    call local_part(lb, b, y)
    call local_part(lc, matmul(a, b), want)
    z = want
    z = 7
    call tessera_dist_matmul(context, la, x, lb, y, lc, z, ierr)
    call check(ierr == tessera_ok .and. all(z == want), "dist_matmul")
    call local_part(lt, transpose(a), want)
    t = want
    t = 7
    call tessera_dist_transpose(context, la, x, lt, t, ierr)
    call check(ierr == tessera_ok .and. all(t == want), "dist_transpose")
    call tessera_dist_matmul(context, lt, t, lb, y, lc, z, ierr, op_a=tessera_trans, &
        alpha=2.0_r8, beta=-1.0_r8)
    call local_part(lc, matmul(a, b), want)
    call check(ierr == tessera_ok .and. all(z == want), "op_a on ranks")
    call test_plan(lt, lb, lc, t, y, want)
    call tessera_layout_free(lt, ierr)
    call tessera_layout_grid(context, m, k, lt, ierr, grid_rows=ranks, grid_cols=1)
    call local_part(lt, a, want)
    t = want
    t = 7
    call tessera_redistribute(context, la, x, lt, t, ierr)
    call check(ierr == tessera_ok .and. all(t == want), "redistribute")
    call tessera_dist_matmul(context, la, x(:, 2:), lb, y, lc, z, ierr)
    call check((ierr == tessera_usage) .and. index(tessera_error_message(), "a ") == 1, "shape")
    call tessera_layout_free(la, ierr)
    call tessera_layout_free(lb, ierr)
    call tessera_layout_free(lc, ierr)
    call tessera_layout_free(lt, ierr)
  end subroutine

  subroutine test_keys()
    real(r8), allocatable :: keys(:), all_keys(:), sorted(:)
    integer(i4), allocatable :: rows(:, :), carried(:, :)
    integer(i8), allocatable :: order(:)
    integer(i8) :: first, last
    integer :: n(0:ranks - 1), before, r, i
    do r = 0, ranks - 1
      n(r) = below(500)
    end do
    before = sum(n(:rank - 1))
    allocate (all_keys(sum(n)))
    call random_number(all_keys)
    sorted = all_keys
    call tessera_sort(sorted, ierr)
    keys = all_keys(before + 1:before + n(rank))
    allocate (rows(3, n(rank)))
    do i = 1, n(rank)
      rows(:, i) = [1, 2, 3] + 3 * (before + i)
    end do
    call tessera_dist_argsort(context, keys, order, ierr)
    call check(ierr == tessera_ok, "dist_argsort")
    allocate (carried(3, size(order)))
    call tessera_dist_permute(context, rows, order, carried, ierr)
    call check(ierr == tessera_ok .and. all(carried(2, :) == 3 * order + 2), "dist_permute")
    call tessera_dist_sort(context, keys, ierr)
    call tessera_share(size(all_keys, kind=i8), ranks, rank, first, last, ierr)
    call check(size(keys) == last - first + 1 .and. size(order) == size(keys), "share")
    call check(all(keys == sorted(first:last)), "dist_sort")
    call check(all(all_keys(order) == keys), "order")
  end subroutine

  ! A field on the ranks, with the caller's source term between steps, against one process.
  subroutine test_field()
    type(tessera_field) :: field
    real(r8), pointer :: u(:, :), w(:, :, :)
    real(r8) :: whole(11, 17), cube(9, 6, 7)
    integer :: first(3), last(3), step
    call fill(whole)
    call tessera_field_create(context, shape(whole), "heat", field, ierr, boundary="mirror", &
        options="halo_steps=1")
    call check(ierr == tessera_ok, "field_create")
    call tessera_field_box(field, first(:2), last(:2), ierr)
    call tessera_field_pointer(field, u, ierr)
    call check(all(shape(u) == last(:2) - first(:2) + 1), "shape of the box")
    u = whole(first(1):last(1), first(2):last(2))
    do step = 1, 3
      call tessera_field_advance(field, step, ierr)
      call tessera_field_pointer(field, u, ierr)
      u = u + 1
      call tessera_advance(whole, step, ierr, name="heat", boundary="mirror")
      whole = whole + 1
    end do
    call check(all(u == whole(first(1):last(1), first(2):last(2))), "field")
    call tessera_field_free(field, ierr)
    call random_number(cube)
    call tessera_field_create(context, shape(cube), "heat", field, ierr)
    call tessera_field_box(field, first, last, ierr)
    call tessera_field_pointer(field, w, ierr)
    w = cube(first(1):last(1), first(2):last(2), first(3):last(3))
    call tessera_field_advance(field, 4, ierr)
    call tessera_field_pointer(field, w, ierr)
    call tessera_advance(cube, 4, ierr, name="heat")
    call check(all(w == cube(first(1):last(1), first(2):last(2), first(3):last(3))), &
        "field of a cube")
    call tessera_field_free(field, ierr)
  end subroutine

  subroutine test_file()
    character(200) :: name
    real(r8) :: whole(6, 9), back(3, 4)
    integer :: first(2), last(2), begin, finish
    integer(i8) :: a, b
    call get_command_argument(1, name)
    call fill(whole)
    call tessera_share(9_i8, ranks, rank, a, b, ierr)
    begin = int(a)
    finish = int(b)
    call tessera_write(context, trim(name), "/x", shape(whole), [1, begin], [6, finish], &
        whole(:, begin:finish), ierr, options="existing=replace")
    call check(ierr == tessera_ok, "write")
    first = [2, 3]
    last = [4, 6]
    call tessera_read(trim(name), "/x", first, last, back, ierr)
    call check(ierr == tessera_ok .and. all(back == whole(2:4, 3:6)), "read")
    call tessera_read(trim(name), "/y", first, last, back, ierr)
    call check(ierr /= tessera_ok, "read what is not there")
  end subroutine

  subroutine wrong(argument)
    character(*), intent(in) :: argument
    call check(ierr == tessera_usage, "not refused: " // argument)
    call check(index(tessera_error_message(), argument // " ") == 1, argument)
  end subroutine

  subroutine test_wrong()
    type(tessera_context) :: freed, nothing
    type(tessera_layout) :: layout
    type(tessera_field) :: field
    real(r8) :: a(3, 4), b(4, 5), c(3, 5)
    real(r8), allocatable :: keys(:)
    integer(i8) :: order(3)
    a = 1
    b = 1
    call tessera_matmul(a, a, c, ierr)
    call wrong("b")
    call tessera_matmul(a, b, b, ierr)
    call wrong("c")
    call tessera_matmul(a, b, c, ierr, op_a=1)
    call check(ierr == tessera_usage, "op_a")
    call tessera_matmul(a, b, c, ierr, options="thread=2")
    call wrong("options")
    call tessera_transpose(a, b, ierr)
    call wrong("b")
    call tessera_argsort(a(:, 1), order(:2), ierr)
    call wrong("permutation")
    call tessera_sort(a(:, 1), ierr, direction=5)
    call wrong("direction")
    call tessera_advance(a, -1, ierr, name="heat")
    call wrong("steps")
    call tessera_advance(a, 1, ierr)
    call wrong("stencil")
    call tessera_transpose(b(:3, :3), c(:, :3), ierr, op=0)
    call wrong("op")
    call tessera_advance(a, 1, ierr, name="heat", options="kernel=none")
    call wrong("options")
    call tessera_share(10_i8, 2, 2, order(1), order(2), ierr)
    call wrong("part")
    call tessera_layout_box(context, 3, 4, [1, 5, 1, 4], layout, ierr)
    call wrong("box")
    call tessera_layout_grid(context, 3, 4, layout, ierr, grid_rows=ranks, grid_cols=2)
    call wrong("grid_rows")
    call tessera_field_create(context, [3, 0], "heat", field, ierr)
    call wrong("extents")
    call tessera_field_create(context, [3, 3], "heat", field, ierr, kind=tessera_i32)
    call wrong("type")
    call tessera_field_advance(field, 1, ierr)
    call wrong("field")
    call tessera_dist_permute(context, a, [0_i8], c(:, :1), ierr)
    call wrong("permutation")
    call tessera_write(context, "x.h5", "x", shape(a), [1, 1], shape(a), a, ierr)
    call wrong("dataset")
    call tessera_read("x.h5", "/x", [0, 1], [3, 4], a, ierr)
    call wrong("low")
    call tessera_layout_grid(nothing, 3, 4, layout, ierr)
    call wrong("context")
    call tessera_layout_grid(context, -3, 4, layout, ierr)
    call wrong("rows")
    call tessera_context_create(mpi_comm_null, nothing, ierr)
    call wrong("comm")
    call tessera_context_create(part, freed, ierr)
    nothing = freed
    call tessera_context_free(freed, ierr)
    allocate (keys(3))
    keys = 1
    call tessera_dist_sort(nothing, keys, ierr)
    call wrong("context")
    call tessera_dist_sort(context, keys, ierr, options="kernel=none")
    call wrong("options")
  end subroutine

end program fortran_test
