#include "sluice/program.h"

int main(int argc, char** argv) { return sluice::tool::run_program(argc, argv); }
