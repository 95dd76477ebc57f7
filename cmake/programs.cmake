# The calx command, the examples and the benchmarks: users of the public API.

set(public_libraries calx)
if(TARGET calx_models)
  list(APPEND public_libraries calx_models)
endif()

file(GLOB_RECURSE tool_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*.c)
if(CALX_TOOLS AND tool_sources)
  add_executable(calx_command ${tool_sources})
  target_include_directories(calx_command PRIVATE ${PROJECT_SOURCE_DIR}/tools)
  target_link_libraries(calx_command PRIVATE ${public_libraries}
    PkgConfig::JANSSON PkgConfig::ZLIB m)
  set_target_properties(calx_command PROPERTIES OUTPUT_NAME calx
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endif()

# One program for each file of a folder; their targets are left in `out`.
function(add_programs folder out)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
  set(targets "")
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    add_executable(${folder}_${name} ${file})
    target_link_libraries(${folder}_${name} PRIVATE ${public_libraries} m)
    set_target_properties(${folder}_${name} PROPERTIES OUTPUT_NAME ${name}
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/${folder})
    list(APPEND targets ${folder}_${name})
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

set(example_programs "")
if(CALX_EXAMPLES)
  add_programs(examples example_programs)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
  target_link_libraries(examples_12_unit_test PRIVATE PkgConfig::CMOCKA)

  # The pictures and the digits that several of them use. Without libpng all is
  # drawn, nothing written.
  file(GLOB support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/support/*.c)
  add_library(example_support STATIC ${support})
  target_include_directories(example_support PUBLIC
    ${PROJECT_SOURCE_DIR}/examples/support)
  target_link_libraries(example_support PUBLIC ${public_libraries} m)
  pkg_check_modules(PNG IMPORTED_TARGET libpng)
  if(PNG_FOUND)
    target_compile_definitions(example_support PRIVATE HAVE_PNG=1)
    target_link_libraries(example_support PRIVATE PkgConfig::PNG)
  endif()
  foreach(target IN LISTS example_programs)
    target_link_libraries(${target} PRIVATE example_support)
  endforeach()
  target_link_libraries(examples_09_gru PRIVATE PkgConfig::ZLIB)
endif()
if(CALX_BENCH)
  add_programs(bench bench_programs)
  foreach(target IN LISTS bench_programs)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  endforeach()
endif()
