# The Fortran module of the C API. Constants and interfaces follow from its headers. The procedures
# for arrays are those of the files *.f90.in: a section "== NAME TYPES" becomes one procedure for
# each type of elements behind the generic NAME, @T being the type, @S its suffix and @N its
# constant.

set(suffixes_reals f32 f64)
set(suffixes_numbers f32 f64 c64 c128)
set(suffixes_keys f32 f64 i8 i16 i32 i64)
set(suffixes_all f32 f64 c64 c128 i8 i16 i32 i64)
set(fortran_f32 "real(c_float)")
set(fortran_f64 "real(c_double)")
set(fortran_c64 "complex(c_float)")
set(fortran_c128 "complex(c_double)")
set(fortran_i8 "integer(c_int8_t)")
set(fortran_i16 "integer(c_int16_t)")
set(fortran_i32 "integer(c_int32_t)")
set(fortran_i64 "integer(c_int64_t)")

# Sets `result` to the Fortran declaration of an argument of that type of C.
function(tessera_fortran_kind result type)
  if(type MATCHES "\\*")
    set(kind "type(c_ptr)")
  elseif(type STREQUAL "double")
    set(kind "real(c_double)")
  elseif(type STREQUAL "int64_t")
    set(kind "integer(c_int64_t)")
  elseif(type STREQUAL "tessera_log")
    set(kind "type(c_funptr)")
  elseif(type MATCHES "^tessera_")
    set(kind "integer(c_intptr_t)")
  elseif(type MATCHES "^(int|MPI_Fint)$")
    set(kind "integer(c_int)")
  else()
    message(FATAL_ERROR "src/tessera*.h: no Fortran type is known for ${type}")
  endif()
  set(${result} "${kind}" PARENT_SCOPE)
endfunction()

# Appends to `interfaces` and `names` what a prototype "int tessera_f(int a, ...)" declares.
function(tessera_fortran_interface prototype)
  string(REGEX MATCH "^(.*[* ])(tessera_[a-z0-9_]+)\\((.*)\\)" matched "${prototype}")
  set(name ${CMAKE_MATCH_2})
  string(REGEX REPLACE " *, *" ";" arguments "${CMAKE_MATCH_3}")
  set(kind "integer(c_int)")
  if(prototype MATCHES "^const char")
    set(kind "type(c_ptr)")
  endif()
  set(dummies)
  set(declarations)
  foreach(argument IN LISTS arguments)
    if(NOT argument MATCHES "^(.*[* ])([a-z_]+)$")
      continue() # (void)
    endif()
    set(dummy ${CMAKE_MATCH_2})
    string(STRIP "${CMAKE_MATCH_1}" type)
    if(type STREQUAL "MPI_Comm")
      return()
    endif()
    tessera_fortran_kind(declared "${type}")
    list(APPEND dummies ${dummy})
    string(APPEND declarations "      ${declared}, value :: ${dummy}\n")
  endforeach()
  list(JOIN dummies ", " dummies)
  string(REGEX REPLACE "(([^,]*, )([^,]*, )([^,]*, )([^,]*, ))" "\\1&\n        " dummies
    "${dummies}")
  string(APPEND interfaces "    function ${name}_c(${dummies}) &\n"
    "        bind(c, name=\"${name}\") result(status)\n      import\n${declarations}"
    "      ${kind} :: status\n    end function\n")
  set(interfaces "${interfaces}" PARENT_SCOPE)
  set(names ${names} ${name} PARENT_SCOPE)
endfunction()

# Appends to `procedures` the procedures of a section, and to `publics` their generic.
function(tessera_fortran_section title template)
  if(NOT title MATCHES "^([a-z_]+) ?([a-z]*)$")
    message(FATAL_ERROR "src/c/fortran: == ${title}")
  endif()
  set(name ${CMAKE_MATCH_1})
  set(types "${suffixes_${CMAKE_MATCH_2}}")
  set(kept "${template}")
  if(types)
    string(REGEX MATCH "(subroutine|function) ([a-z0-9_]+)_@S" head "${template}")
    set(head ${CMAKE_MATCH_2})
    set(kept)
    string(APPEND publics "  interface ${name}\n")
    foreach(type IN LISTS types)
      string(REPLACE "@S" ${type} one "${template}")
      string(REPLACE "@T" "${fortran_${type}}" one "${one}")
      string(REPLACE "@N" tessera_${type} one "${one}")
      string(APPEND kept "${one}")
      string(APPEND publics "    module procedure ${head}_${type}\n")
    endforeach()
    string(APPEND publics "  end interface\n")
  endif()
  if(NOT name STREQUAL "private" AND NOT publics MATCHES "public :: ${name}\n")
    string(APPEND publics "  public :: ${name}\n")
  endif()
  set(procedures "${procedures}${kept}" PARENT_SCOPE)
  set(publics "${publics}" PARENT_SCOPE)
endfunction()

# tessera_fortran_module(<headers> <output> <sections>...): writes the module. The first file of
# sections begins with declarations.
function(tessera_fortran_module headers output)
  set(text)
  foreach(header IN LISTS headers)
    file(READ ${header} more)
    string(APPEND text "${more}")
  endforeach()
  string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
  string(REGEX REPLACE ";" "|" text "${text}")
  string(REGEX REPLACE " ([a-z_]+)\\[[0-9]*\\]" "* \\1" text "${text}")
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  set(constants)
  string(REGEX MATCHALL "TESSERA_[A-Z0-9_]+ = [0-9]+" enumerators "${text}")
  foreach(enumerator IN LISTS enumerators)
    string(TOLOWER "${enumerator}" enumerator)
    string(APPEND constants "  integer, parameter, public :: ${enumerator}\n")
  endforeach()
  set(interfaces)
  set(names)
  string(REGEX MATCHALL "(int|const char\\*) tessera_[a-z0-9_]+\\([^)]*\\)\\|" prototypes "${text}")
  foreach(prototype IN LISTS prototypes)
    tessera_fortran_interface("${prototype}")
  endforeach()
  list(TRANSFORM names REPLACE "(.+)" "  public :: \\1_c\n")
  list(JOIN names "" names)

  set(left)
  foreach(sections IN LISTS ARGN)
    file(READ ${sections} more)
    string(APPEND left "${more}\n")
  endforeach()
  string(FIND "${left}" "== " end)
  string(SUBSTRING "${left}" 0 ${end} head)
  set(procedures)
  set(publics)
  while(NOT end EQUAL -1)
    math(EXPR begin "${end} + 3")
    string(SUBSTRING "${left}" ${begin} -1 left)
    string(FIND "${left}" "\n" line)
    string(SUBSTRING "${left}" 0 ${line} title)
    string(FIND "${left}" "\n== " end)
    math(EXPR line "${line} + 1")
    set(length -1)
    if(NOT end EQUAL -1)
      math(EXPR end "${end} + 1")
      math(EXPR length "${end} - ${line}")
    endif()
    string(SUBSTRING "${left}" ${line} ${length} template)
    tessera_fortran_section("${title}" "${template}")
  endwhile()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
"! The Fortran module of Tessera, made from its headers for C. Arrays are in Fortran's order,
! indices begin at 1, ranks at 0. ierr is a code; tessera_error_message() is the text of the last
! error.
module tessera
  use, intrinsic :: iso_c_binding
  implicit none
  private
@constants@@head@@publics@
  interface
@interfaces@  end interface
@names@
contains

@procedures@
end module tessera
")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers} ${ARGN})
endfunction()
