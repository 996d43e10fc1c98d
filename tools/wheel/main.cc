#include "wheel/entry.h"

int main(int argc, char** argv) { return sluice_python_program(argc, argv); }
