# Tests: tests/*_test.c with cmocka, tests/*.sh, and every example. All run in
# the root of the source tree, so that they find tests/data.

# A test names the symbols inside the library, which only the static form
# shows; a shared build tests the examples and the installed package.
if(NOT BUILD_SHARED_LIBS)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
  file(GLOB support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.c)
  add_library(test_support STATIC EXCLUDE_FROM_ALL ${support})
  target_include_directories(test_support PRIVATE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(test_support PUBLIC ${public_libraries}
    PkgConfig::CMOCKA)
  file(GLOB tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_test.c)
  foreach(file IN LISTS tests)
    get_filename_component(name ${file} NAME_WE)
    add_executable(${name} ${file})
    target_include_directories(${name} PRIVATE
      ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE test_support ${public_libraries}
      PkgConfig::CMOCKA PkgConfig::JANSSON PkgConfig::LIBZIP PkgConfig::ZLIB
      Threads::Threads m)
    set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)
    # tests/support/faults.c stands between these and malloc.
    if(name MATCHES "^short_memory_(groups|models)_test$")
      foreach(function malloc calloc realloc aligned_alloc strdup)
        target_link_options(${name} PRIVATE LINKER:--wrap=${function})
      endforeach()
    endif()
    add_test(NAME ${name} COMMAND ${name}
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    # Tests ask for more memory than there is, and want NULL for it; one forks
    # while it has threads.
    set(no_abort allocator_may_return_null=1)
    set(tsan ${no_abort}:die_after_fork=0:report_thread_leaks=0)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT
      "ASAN_OPTIONS=${no_abort};TSAN_OPTIONS=${tsan};CALX_CACHE=off")
  endforeach()

  # Generated code: a library of another version, and random loops once more.
  foreach(name wrong_plugin other_build no_code)
    add_library(${name} MODULE ${PROJECT_SOURCE_DIR}/tests/llvm/${name}.c)
    target_include_directories(${name} PRIVATE
      ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    set_target_properties(${name} PROPERTIES PREFIX ""
      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)
  endforeach()
  target_sources(no_code PRIVATE $<TARGET_OBJECTS:calx_build_id>)
  foreach(name code_test code_cache_test code_thread_test)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
      "CALX_WRONG_PLUGIN=$<TARGET_FILE:wrong_plugin>"
      "CALX_OTHER_PLUGIN=$<TARGET_FILE:other_build>"
      "CALX_FAILING_PLUGIN=$<TARGET_FILE:no_code>")
  endforeach()
  if(CALX_HAS_LLVM)
    foreach(name control_random_test random_program_test control_test)
      add_test(NAME ${name}_code COMMAND ${name}
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_tests_properties(${name}_code PROPERTIES ENVIRONMENT
        "CALX_LLVM=now;CALX_CACHE=off")
    endforeach()
    foreach(isa avx2 base)
      add_test(NAME code_pass_test_${isa} COMMAND code_pass_test
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_tests_properties(code_pass_test_${isa} PROPERTIES ENVIRONMENT
        "CX_ISA=${isa};CALX_CACHE=off")
    endforeach()
  endif()

  foreach(isa avx2 base)
    add_test(NAME linalg_kernels_test_${isa} COMMAND linalg_kernels_test
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(linalg_kernels_test_${isa} PROPERTIES ENVIRONMENT
      "CX_ISA=${isa}")
  endforeach()

  file(GLOB loops CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/isa/*.c)
  add_for_each_isa(isa_test test_loops ${loops})
endif()

# An example checks itself, or what it prints is written down, or what it
# reaches stands in docs/examples.md.
foreach(program IN LISTS example_programs)
  get_target_property(name ${program} OUTPUT_NAME)
  set(command bash tests/golden/reached.sh $<TARGET_FILE:${program}> ${name}
    ${PROJECT_BINARY_DIR})
  if(EXISTS ${PROJECT_SOURCE_DIR}/tests/golden/${name}.txt)
    set(command bash tests/golden/compare.sh $<TARGET_FILE:${program}> ${name})
  endif()
  add_test(NAME ${program} COMMAND ${command}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${program} PROPERTIES ENVIRONMENT CALX_CACHE=off)
endforeach()

# The plain functions from C++, if there is a compiler for it, and arrays from
# and to NumPy, if there is Python.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
  add_executable(abi_test ${PROJECT_SOURCE_DIR}/tests/cxx/abi_test.cpp)
  set_target_properties(abi_test PROPERTIES CXX_STANDARD 17
    CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)
  separate_arguments(sanitizers UNIX_COMMAND "${CMAKE_C_FLAGS}")
  target_compile_options(abi_test PRIVATE ${sanitizers})
  target_link_options(abi_test PRIVATE ${sanitizers})
  target_link_libraries(abi_test PRIVATE calx)
  add_test(NAME abi_test COMMAND abi_test)
endif()
add_library(dlpack_peer MODULE ${PROJECT_SOURCE_DIR}/tests/dlpack/peer.c)
target_link_libraries(dlpack_peer PRIVATE calx)
set_target_properties(dlpack_peer PROPERTIES PREFIX ""
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)

file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*.sh)
foreach(file IN LISTS scripts)
  get_filename_component(name ${file} NAME_WE)
  add_test(NAME ${name} COMMAND bash ${file} ${PROJECT_BINARY_DIR}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "CC=${CMAKE_C_COMPILER};CALX_CACHE=off")
endforeach()
set_tests_properties(conform PROPERTIES TIMEOUT 1500)
set_tests_properties(cached PROPERTIES TIMEOUT 600)
# These compare times of programs of several sizes: nothing else runs meanwhile.
set_tests_properties(growth_test host_test PROPERTIES RUN_SERIAL TRUE)

# Fuzzers: build/bin/fuzz/text_fuzz -max_total_time=60, or tests/fuzz/run.sh.
# What they call is built to report its coverage to them.
if(CALX_FUZZ AND CMAKE_C_COMPILER_ID MATCHES Clang)
  set(fuzz_options address,undefined)
  foreach(target IN LISTS public_libraries)
    target_compile_options(${target} PRIVATE
      -fsanitize=fuzzer-no-link,${fuzz_options})
    target_link_options(${target} INTERFACE
      -fsanitize=fuzzer-no-link,${fuzz_options})
  endforeach()
  set(fuzzed_tools ${tool_sources})
  list(FILTER fuzzed_tools INCLUDE REGEX "/(record|jaxpr_[a-z]*)\\.c$")
  add_library(fuzzed_tools STATIC EXCLUDE_FROM_ALL ${fuzzed_tools})
  target_link_libraries(fuzzed_tools PUBLIC ${public_libraries}
    PkgConfig::JANSSON PkgConfig::ZLIB m)
  target_compile_options(fuzzed_tools PRIVATE
    -fsanitize=fuzzer-no-link,${fuzz_options})
  file(GLOB fuzzers CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.c)
  add_custom_target(fuzzers)
  foreach(file IN LISTS fuzzers)
    get_filename_component(name ${file} NAME_WE)
    add_executable(${name} EXCLUDE_FROM_ALL ${file})
    add_dependencies(fuzzers ${name})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src
      ${PROJECT_SOURCE_DIR}/tools)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer,${fuzz_options})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer,${fuzz_options})
    target_link_libraries(${name} PRIVATE fuzzed_tools)
    set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/fuzz)
  endforeach()
elseif(CALX_FUZZ)
  message(WARNING "CALX_FUZZ needs clang: no fuzzers are built")
endif()
