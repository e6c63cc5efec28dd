/* Stands for an HDF5 of another MPI library. */
int tessera_other_mpi(void);
int tessera_other_hdf5(void) { return tessera_other_mpi(); }
