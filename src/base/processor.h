// Where threads run.
#pragma once

#include <pthread.h>

namespace sluice {

/// Keeps a thread to the processors that the caller may use but for the one it is on. The system
/// often starts a thread on its maker's although others are idle; then each waits for the other's
/// turn, milliseconds at a time. Where there is no other, or the system refuses, all stays as it
/// is.
void keep_off_my_processor(pthread_t thread);

}  // namespace sluice
