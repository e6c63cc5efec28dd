#pragma once
// Matrices in the caller's memory from any distribution over the ranks to any other.

#include "dist/relayout/relayout.hpp"
