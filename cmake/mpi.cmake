# Programs over several processes: spirograd::mpi, which nothing else of ours needs. find_package(spirograd COMPONENTS mpi).
if(CMAKE_CROSSCOMPILING)
  return()
endif()
find_package(MPI QUIET COMPONENTS C)
if(NOT MPI_C_FOUND)
  message(WARNING "spirograd::mpi is NOT built: that needs MPI (Debian: libopenmpi-dev)")
  return()
endif()
spirograd_library(spirograd_mpi INCLUDE vk_runtime/include FOLDERS vk_runtime/mpi LINK spirograd_shards)
target_link_libraries(spirograd_mpi PRIVATE MPI::MPI_C)
# Its interface for C++ was dropped from the standard, and is made of headers that warn.
target_compile_definitions(spirograd_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
