// What the wheel's program calls in libsluice_python.
#pragma once

/// The program `sluice`. Gives its exit status.
extern "C" __attribute__((visibility("default"))) int sluice_python_program(int argc, char** argv);
