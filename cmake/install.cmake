# Install: headers, libraries, the command, a CMake package, pkg-config files.

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/calx)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS calx EXPORT calx-targets)
if(TARGET calx_llvm)
  install(TARGETS calx_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
set(CALX_HAS_MODELS FALSE)
if(TARGET calx_models)
  install(TARGETS calx_models EXPORT calx-targets)
  set(CALX_HAS_MODELS TRUE)
endif()
if(TARGET calx_command)
  install(TARGETS calx_command)
endif()

install(EXPORT calx-targets NAMESPACE calx:: DESTINATION ${package_dir})
configure_package_config_file(cmake/calx-config.cmake.in calx-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(calx-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/calx-config.cmake
  ${PROJECT_BINARY_DIR}/calx-config-version.cmake DESTINATION ${package_dir})

# The way from the folder of the pkg-config file up to the prefix: the package
# may be moved as a whole.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")

# A static library's users link what it uses; a shared one's need nothing.
set(used_modules "jansson libzip")
set(used_libraries "-lm -lpthread -ldl")
foreach(kind requires libs)
  set(pc_${kind} "")
  set(pc_${kind}_private "")
endforeach()
if(BUILD_SHARED_LIBS)
  set(pc_requires_private "${used_modules}")
  set(pc_libs_private "${used_libraries}")
else()
  set(pc_requires "${used_modules}")
  set(pc_libs "${used_libraries}")
endif()
configure_file(cmake/calx.pc.in calx.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/calx.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(CALX_HAS_MODELS)
  configure_file(cmake/calx-models.pc.in calx-models.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/calx-models.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
