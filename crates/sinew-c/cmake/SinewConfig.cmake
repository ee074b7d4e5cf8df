# Sinew for C and C++: find_package(Sinew), then target_link_libraries(program Sinew::sinew).
# Sinew::sinew_static is the same as a static library. Sinew::parallel_scheduler is the source file
# that makes Sinew the parallel scheduler of C++26.
get_filename_component(_sinew_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

find_package(Threads REQUIRED)

if(NOT TARGET Sinew::sinew)
  add_library(Sinew::sinew SHARED IMPORTED)
  set_target_properties(Sinew::sinew PROPERTIES
    IMPORTED_LOCATION "${_sinew_prefix}/lib/libsinew.so.0"
    IMPORTED_SONAME "libsinew.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${_sinew_prefix}/include")

  add_library(Sinew::sinew_static STATIC IMPORTED)
  set_target_properties(Sinew::sinew_static PROPERTIES
    IMPORTED_LOCATION "${_sinew_prefix}/lib/libsinew.a"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m;gcc_s"
    INTERFACE_INCLUDE_DIRECTORIES "${_sinew_prefix}/include")

  add_library(Sinew::parallel_scheduler INTERFACE IMPORTED)
  set_target_properties(Sinew::parallel_scheduler PROPERTIES
    INTERFACE_SOURCES "${_sinew_prefix}/share/sinew/sinew_parallel_scheduler.cpp"
    INTERFACE_LINK_LIBRARIES "Sinew::sinew")
endif()

unset(_sinew_prefix)
