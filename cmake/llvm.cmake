# libcalx_llvm.so: the library that generates code, built if LLVM 19 is there.
# Calx opens it when a loop first deserves code, and works without.

find_path(LLVM_C_INCLUDE llvm-c/LLJIT.h
  PATHS /usr/lib/llvm-19/include /usr/include/llvm-c-19 NO_DEFAULT_PATH)
find_library(LLVM_C_LIBRARY NAMES LLVM-19 PATHS /usr/lib/llvm-19/lib)
set(CALX_HAS_LLVM FALSE)
set(CALX_LLVM_VERSION none)
if(LLVM_C_INCLUDE AND LLVM_C_LIBRARY)
  set(CALX_HAS_LLVM TRUE)
  set(CALX_LLVM_VERSION 19)
  set(llvm_config ${LLVM_C_INCLUDE}/llvm/Config/llvm-config.h)
  if(EXISTS ${llvm_config})
    file(STRINGS ${llvm_config} llvm_line REGEX "define LLVM_VERSION_STRING ")
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" CALX_LLVM_VERSION "${llvm_line}")
  endif()
  file(GLOB emitter CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/backends/llvm/*.c)
  # What it shares with the library, as a copy of its own: no state.
  set(shared backends/cpu/kernels_find.c base/alloc.c base/arena.c base/dtype.c
    base/error.c base/size.c base/view.c
    lower/loop_layout.c lower/place.c lower/stages.c lower/windows.c)
  list(TRANSFORM shared PREPEND ${PROJECT_SOURCE_DIR}/src/)
  add_library(calx_llvm MODULE ${emitter} ${shared})
  target_include_directories(calx_llvm PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
    ${XXHASH_INCLUDE_DIRS})
  target_include_directories(calx_llvm SYSTEM PRIVATE ${LLVM_C_INCLUDE})
  target_link_libraries(calx_llvm PRIVATE ${LLVM_C_LIBRARY} Threads::Threads m)
  target_link_options(calx_llvm PRIVATE LINKER:--no-undefined)
  set_target_properties(calx_llvm PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
endif()
