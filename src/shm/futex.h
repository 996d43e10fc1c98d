// Sleeping on a word that two processes share.
#pragma once

#include <cstdint>

namespace sluice::shm {

/// Sleeps while `*word` is `seen`, for at most `timeout_ns`; may return early. Whoever shares the
/// memory can move a sleeper to another word, so nobody relies on being woken: every sleep has an
/// end of its own. Requires: `word` lies in a shared mapping, or all who use it are one process.
void futex_wait(std::uint32_t* word, std::uint32_t seen, std::int64_t timeout_ns);

/// Wakes all that sleep on `word`. Never blocks.
void futex_wake(std::uint32_t* word);

}  // namespace sluice::shm
