// The program tessera-examine, which other programs start (io/probe.hpp).

#include "io/examine.hpp"

int main(int argc, char** argv) { return tessera::io::examine_main(argc, argv); }
