#include "wheel/entry.h"

#include "sluice/program.h"

int sluice_python_program(int argc, char** argv) { return sluice::tool::run_program(argc, argv); }
