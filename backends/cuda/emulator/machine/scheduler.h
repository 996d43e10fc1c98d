// Runs the work of streams in a random legal order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <vector>

#include "emulator/machine/work.h"

namespace sluice::cuda::emulator {

/// Work waits until a thread of the host waits or asks for something; then the scheduler picks
/// among all that may run, at random, one piece after another. Nothing runs as soon as it could: a
/// program that forgets to wait sees old bytes for some seeds. One seed and one thread give one
/// order.
///
/// Several threads that wait run pieces side by side. Every function takes the machine's lock,
/// held.
class Scheduler {
 public:
  explicit Scheduler(std::uint64_t seed) : random_(seed) {}

  using Lock = std::unique_lock<std::mutex>;

  /// Adds an entry to a stream that is not captured.
  void submit(const std::shared_ptr<Stream>& stream, Work work);

  /// Runs one piece if one may run. Releases the lock meanwhile.
  bool step(Lock& lock);
  /// Runs pieces until `is_done`. Returns false if no piece is left to run.
  template <typename IsDone>
  bool run_until(Lock& lock, const IsDone& is_done) {
    while (!is_done()) {
      if (step(lock)) continue;
      if (num_running_ == 0) return false;
      progress_.wait(lock);
    }
    return true;
  }

  /// Drops what waits in the streams of a device; completions count as reached.
  void drop(const Device& device);
  /// Whether work of the context waits or runs.
  bool is_busy(const Context& context) const;

  std::uint64_t random() { return random_(); }
  /// Adds to the clock while a piece runs. Takes no lock.
  void count_instructions(std::uint64_t count) { num_instructions_ += count; }
  /// The emulated clock: a microsecond for each piece, a nanosecond for each instruction of a warp.
  std::uint64_t now_ns() const { return num_pieces_ * 1000 + num_instructions_; }

 private:
  struct Piece {
    std::shared_ptr<Stream> stream;
    std::size_t node;  // of a graph
  };
  std::vector<Piece> ready_pieces() const;
  bool may_start(const Stream& stream) const;
  void run_single(Lock& lock, const std::shared_ptr<Stream>& stream);
  void run_node(Lock& lock, const Piece& piece);
  Fault run(Lock& lock, const Operation& operation);
  void finish_first(Stream& stream, const Fault& fault);
  void finish_graph(Stream& stream, GraphRun& graph, std::size_t node, const Fault& fault);
  void fail(Device& device, const Fault& fault);

  std::vector<std::shared_ptr<Stream>> active_;  // streams with work
  std::condition_variable progress_;
  std::mt19937_64 random_;
  int num_running_ = 0;
  std::uint64_t tickets_ = 0;
  std::uint64_t num_pieces_ = 0;
  std::atomic<std::uint64_t> num_instructions_ = 0;
};

}  // namespace sluice::cuda::emulator
