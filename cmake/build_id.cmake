# build_id.c: a hash of all sources, by which code in a cache is told from that
# of another build. Included, it adds the file to the library and the plug-in;
# as a script (cmake -DSOURCES=... -P) it writes the file.
if(CMAKE_SCRIPT_MODE_FILE)
  file(STRINGS ${SOURCES} files)
  set(all "")
  foreach(file IN LISTS files)
    file(SHA256 ${file} hash)
    string(APPEND all ${hash})
  endforeach()
  string(SHA256 id "${all}")
  string(SUBSTRING ${id} 0 32 id)
  file(WRITE ${OUT} "/* build_id.c - written by cmake/build_id.cmake. */
#include \"base/build.h\"

const char cxi_build_id[] = \"${id}\";
const char cxi_build_llvm[] = \"${LLVM}\";
")
  return()
endif()

file(GLOB_RECURSE build_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/*.[ch] ${PROJECT_SOURCE_DIR}/src/*.inc
  ${PROJECT_SOURCE_DIR}/src/*.def ${PROJECT_SOURCE_DIR}/include/*.h)
list(SORT build_sources)
list(JOIN build_sources "\n" build_list)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/build_id.txt CONTENT "@build_list@\n"
  @ONLY)
set(build_id ${PROJECT_BINARY_DIR}/build_id.c)
add_custom_command(OUTPUT ${build_id}
  COMMAND ${CMAKE_COMMAND} -DSOURCES=${PROJECT_BINARY_DIR}/build_id.txt
    -DOUT=${build_id} -DLLVM=${CALX_LLVM_VERSION}
    -P ${PROJECT_SOURCE_DIR}/cmake/build_id.cmake
  DEPENDS ${build_sources} ${PROJECT_BINARY_DIR}/build_id.txt
    ${PROJECT_SOURCE_DIR}/cmake/build_id.cmake
  COMMENT "Hashing the sources" VERBATIM)
# In a library of its own: the two that need it do not race to make it.
add_library(calx_build_id OBJECT ${build_id})
target_include_directories(calx_build_id PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_sources(calx PRIVATE $<TARGET_OBJECTS:calx_build_id>)
if(TARGET calx_llvm)
  target_sources(calx_llvm PRIVATE $<TARGET_OBJECTS:calx_build_id>)
  add_dependencies(calx calx_llvm) # the two are of one build
endif()
