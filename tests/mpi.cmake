# Programs over several processes, under mpirun: one rank, and more than there may be processors.
if(NOT TARGET spirograd_mpi OR NOT MPIEXEC_EXECUTABLE OR NOT LAVAPIPE_ICD)
  message(WARNING "the tests of MPI do NOT run: they need MPI with mpirun (Debian: libopenmpi-dev, openmpi-bin) and lavapipe")
  return()
endif()
add_executable(ranks_test mpi/ranks_test.cpp)
target_include_directories(ranks_test PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(ranks_test PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
target_link_libraries(ranks_test PRIVATE spirograd_mpi spirograd_ad spirograd_text MPI::MPI_C $<TARGET_NAME_IF_EXISTS:keep_loaded>
  GTest::gtest spirograd_warnings)

# Open MPI asks twice before it runs as root, and wants to know of every process more than there are processors.
function(spirograd_mpi_test name)
  cmake_parse_arguments(ARG "" "" "COMMAND;PROPERTIES" ${ARGN})
  spirograd_driver(lavapipe environment)
  list(APPEND environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
       OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_hwloc_base_binding_policy=none LP_NUM_THREADS=1)
  add_test(NAME mpi.${name} COMMAND ${ARG_COMMAND})
  set_tests_properties(mpi.${name} PROPERTIES LABELS "mpi;gpu;lavapipe" TIMEOUT 120 ENVIRONMENT "${environment}" ${ARG_PROPERTIES})
endfunction()
set(mpirun ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG})
foreach(ranks 1 3 4)
  spirograd_mpi_test(Ranks.Of${ranks} COMMAND ${mpirun} ${ranks} $<TARGET_FILE:ranks_test>)
endforeach()
spirograd_mpi_test(Ranks.StartedByHandAreOne COMMAND ranks_test)
# Status 3 is that of the rank that died.
string(JOIN " " dying ${mpirun} 3 $<TARGET_FILE:ranks_test> dies)
spirograd_mpi_test(Ranks.ThatDieEndTheJob COMMAND sh -c "${dying} && exit 1 || test $? -eq 3")
if(TARGET ranks)
  if(TARGET keep_loaded)
    target_link_libraries(ranks PRIVATE keep_loaded)
  endif()
  spirograd_mpi_test(Sample COMMAND ${mpirun} 4 $<TARGET_FILE:ranks> PROPERTIES PASS_REGULAR_EXPRESSION "^line 1.000 \\+ 2.000 x, loss below 1e-6: 1, by 4 ranks\n$")
endif()
