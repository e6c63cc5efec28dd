# The seconds after which a test counts as hanging. The longest takes a minute on two free cores;
# with eight busy processes on each core it takes ten times as long.
set(TEST_LIMIT_S 1800)
if(CMAKE_CXX_FLAGS MATCHES "fsanitize")
  set(TEST_LIMIT_S 5400)
endif()

# tessera_test(<path> [RANKS <n>...] [LINK <target>...] [LABELS <label>...] [SOURCES <file>...])
#
# The name is the path below tests/ with _ for /. Builds <path>.cpp (plus SOURCES) into one
# GoogleTest program and adds one CTest test for it, or one for each rank count, run by mpirun (the
# program then links tessera_mpi's own main). Without RANKS the label is unit, else mpi.
function(tessera_test path)
  cmake_parse_arguments(T "" "" "RANKS;LINK;LABELS;SOURCES" ${ARGN})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/tests
    OUTPUT_VARIABLE folder)
  string(REGEX REPLACE "[/.]+" "_" name "${folder}/${path}")
  string(REGEX REPLACE "^_" "" name "${name}")
  add_executable(${name} ${path}.cpp ${T_SOURCES})
  # Not the ceilings that this machine may have measured.
  set(environment TESSERA_MACHINE_FILE=${CMAKE_CURRENT_BINARY_DIR}/${name}.toml
      ${TESSERA_TOOL_ENVIRONMENT})
  target_link_libraries(${name} PRIVATE tessera_flags ${T_LINK} GTest::gtest)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(NOT T_RANKS)
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES LABELS "unit;${T_LABELS}" TIMEOUT ${TEST_LIMIT_S}
                         ENVIRONMENT "${environment};OMP_NUM_THREADS=4")
    return()
  endif()
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/mpi/main.cpp)
  target_link_libraries(${name} PRIVATE tessera_mpi tessera_yield)
  foreach(ranks IN LISTS T_RANKS)
    add_test(NAME ${name}_${ranks} COMMAND bash ${PROJECT_SOURCE_DIR}/tests/mpi/session.sh
             ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
             ${MPIEXEC_PREFLAGS} $<TARGET_FILE:${name}> --gtest_brief=1 ${MPIEXEC_POSTFLAGS})
    set_tests_properties(${name}_${ranks} PROPERTIES LABELS "mpi;${T_LABELS}"
      TIMEOUT ${TEST_LIMIT_S}
      PROCESSORS 2
      ENVIRONMENT "${environment};${TESSERA_MPI_ENVIRONMENT};OMP_NUM_THREADS=2")
  endforeach()
endfunction()

# Any mpirun, as root, on few cores, in a container without ptrace.
execute_process(COMMAND bash ${PROJECT_SOURCE_DIR}/jobs/launch.sh --contained
  OUTPUT_VARIABLE TESSERA_MPI_ENVIRONMENT OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" TESSERA_MPI_ENVIRONMENT "${TESSERA_MPI_ENVIRONMENT}")
list(APPEND TESSERA_MPI_ENVIRONMENT OMP_WAIT_POLICY=passive)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/jobs/launch.sh)
# Suppressing Open MPI's leaks needs frames of the slow unwinder; other builds avoid its cost of
# minutes.
set(TESSERA_SANITIZER_ENVIRONMENT)
if(CMAKE_CXX_FLAGS MATCHES "fsanitize=address")
  set(TESSERA_SANITIZER_ENVIRONMENT
    ASAN_OPTIONS=fast_unwind_on_malloc=0:allocator_may_return_null=1
    LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_LIST_DIR}/lsan.supp:print_suppressions=0)
  list(APPEND TESSERA_MPI_ENVIRONMENT ${TESSERA_SANITIZER_ENVIRONMENT})
endif()

# Archer, which tells ThreadSanitizer what OpenMP synchronises, is next to clang's libomp.
set(TESSERA_TOOL_ENVIRONMENT)
if(CMAKE_CXX_FLAGS MATCHES "fsanitize=thread")
  file(REAL_PATH "${OpenMP_omp_LIBRARY}" libomp)
  cmake_path(GET libomp PARENT_PATH folder)
  find_library(TESSERA_ARCHER archer HINTS ${folder} REQUIRED)
  set(TESSERA_TOOL_ENVIRONMENT OMP_TOOL_LIBRARIES=${TESSERA_ARCHER})
endif()

# tessera_script(<name> <file> [ARGUMENTS <test>...] [LABELS <label>...]
#                [ENVIRONMENT <name=value>...] [SLOW <s>] [PROCESSORS <n>])
#
# Adds a test of the program from the outside: a unittest script for Python with h5py, run on
# $<TARGET_FILE:tessera>. Exit code 77 counts as skipped; random cases use a fixed seed. SLOW also
# adds <name>_all, the complete set, labelled slow, with that time-out. PROCESSORS 1 instead of 2
# lets another test run at the same time: for tests whose jobs mostly wait and that neither measure
# nor kill.
function(tessera_script name file)
  cmake_parse_arguments(T "" "SLOW;PROCESSORS" "ARGUMENTS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT T_PROCESSORS)
    set(T_PROCESSORS 2)
  endif()
  set(environment TESSERA_BIN=$<TARGET_FILE:tessera> TESSERA_LAUNCHER=${MPIEXEC_EXECUTABLE}
    PYTHONDONTWRITEBYTECODE=1 ${TESSERA_SANITIZER_ENVIRONMENT} ${T_ENVIRONMENT})
  add_test(NAME ${name} COMMAND ${TESSERA_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${file}
    ${T_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}" TIMEOUT ${TEST_LIMIT_S}
                       PROCESSORS ${T_PROCESSORS} SKIP_RETURN_CODE 77 ENVIRONMENT
                       "${environment};TESSERA_TEST_SEED=1")
  if(T_SLOW)
    add_test(NAME ${name}_all COMMAND ${TESSERA_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${file}
      ${T_ARGUMENTS})
    set_tests_properties(${name}_all PROPERTIES LABELS "${T_LABELS};slow" TIMEOUT ${T_SLOW}
                         PROCESSORS ${T_PROCESSORS} SKIP_RETURN_CODE 77 ENVIRONMENT
                         "${environment};TESSERA_TEST_SLOW=1")
  endif()
endfunction()

# Finds the python3 of the PATH or the system's, the first with h5py; without one, the scripts skip
# themselves.
function(tessera_find_python)
  foreach(candidate python3 /usr/bin/python3)
    execute_process(COMMAND ${candidate} -c "import h5py, numpy" RESULT_VARIABLE missing
      OUTPUT_QUIET ERROR_QUIET)
    if(missing EQUAL 0)
      set(TESSERA_PYTHON ${candidate} CACHE STRING
        "Python with h5py and numpy, for the tests of the program")
      return()
    endif()
  endforeach()
  set(TESSERA_PYTHON python3 CACHE STRING
    "Python with h5py and numpy, for the tests of the program")
endfunction()
