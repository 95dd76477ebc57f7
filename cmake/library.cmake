# The library from src/, with the kernels once per instruction set, and the
# models.

file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.c)
file(GLOB kernels CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/backends/cpu/kernels/*.c
  ${PROJECT_SOURCE_DIR}/src/primitives/linalg_kernels/*.c)
if(kernels)
  list(REMOVE_ITEM sources ${kernels})
endif()
list(FILTER sources EXCLUDE REGEX "/src/backends/llvm/") # see llvm.cmake

add_library(calx ${sources})
add_library(calx::calx ALIAS calx)
target_include_directories(calx
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
         $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  PRIVATE ${PROJECT_SOURCE_DIR}/src ${XXHASH_INCLUDE_DIRS})
target_compile_features(calx PUBLIC c_std_11)
target_link_libraries(calx PRIVATE
  PkgConfig::JANSSON PkgConfig::LIBZIP
  Threads::Threads ${CMAKE_DL_LIBS} m)
target_link_options(calx PRIVATE LINKER:--as-needed)
set_target_properties(calx PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

# The instruction sets, and what the compiler is told for each.
set(isas base)
set(isa_flags_base "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_definitions(calx PRIVATE CXI_HAS_X86=1)
  list(APPEND isas avx2 avx512)
  set(isa_flags_avx2 -mavx2 -mfma -mf16c)
  set(isa_flags_avx512 -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl
    -mprefer-vector-width=512)
endif()

# Compiles the files once per instruction set, into object libraries
# ${name}_${isa} that become part of `target`. Within them CXI_ISA is the name
# of the set, which src/base/isa.h appends to their symbols. Clang warns where
# it leaves a loop scalar that was marked for vectors, as it does below -O2.
function(add_for_each_isa target name)
  foreach(isa IN LISTS isas)
    add_library(${name}_${isa} OBJECT ${ARGN})
    target_include_directories(${name}_${isa} PRIVATE
      ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${name}_${isa} PRIVATE CXI_ISA=${isa})
    target_compile_options(${name}_${isa} PRIVATE
      $<$<CONFIG:Release>:-O3> $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>
      -fno-math-errno -fno-trapping-math
      ${isa_flags_${isa}})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${name}_${isa}>)
  endforeach()
endfunction()

if(kernels)
  add_for_each_isa(calx calx_kernels ${kernels})
endif()

file(GLOB_RECURSE models CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/*.c)
if(models)
  add_library(calx_models STATIC ${models})
  add_library(calx::models ALIAS calx_models)
  set_target_properties(calx_models PROPERTIES EXPORT_NAME models)
  target_include_directories(calx_models PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/models>)
  target_link_libraries(calx_models PUBLIC calx
    PRIVATE PkgConfig::JANSSON PkgConfig::UTF8PROC m)
endif()
