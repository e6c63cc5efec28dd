#!/usr/bin/env bash
# bash session.sh MPIRUN...: starts it with a separate session folder. Two launchers that start or
# end at the same time create and remove the common one of Open MPI under each other ("mkdir: File
# exists", seen once in 700 tests under load).
folder=$(mktemp -d) || exit
trap 'rm -rf "$folder"' EXIT
export OMPI_MCA_orte_tmpdir_base=$folder PRTE_MCA_prte_tmpdir_base=$folder # Open MPI 4, 5
"$@"
