#pragma once
// HDF5 datasets as distributed arrays: reads, outputs, and the check of files.

#include "io/dataset.hpp"
#include "io/output_file.hpp"
#include "io/verify_file.hpp"
