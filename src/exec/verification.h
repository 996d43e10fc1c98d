// Checksums of what a load uses, compared together.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "package/executable.h"

namespace sluice::exec {

/// Gathers data and reads all of it once, by several threads: a load waits for memory here, and one
/// core does not use all of its speed. Used by one thread.
class Verification {
 public:
  /// At most `num_threads` threads read, the caller included (0: as many as the process may use).
  /// `executable` outlives this.
  Verification(const package::Executable& executable, int num_threads, std::stop_token stop);
  Verification(const Verification&) = delete;
  Verification& operator=(const Verification&) = delete;
  ~Verification() = default;

  /// Reads what is large among `data` from now on, beside whatever the caller does: most of it will
  /// be added. Whether the rest is damaged does not matter. Called once, at first.
  void read_ahead(std::vector<Bytes> data);
  /// Before `start`. `what` names the data in the message.
  void add(Bytes data, std::string what);

  /// Compares what is small, for shapes are worked out from it; large data may be compared until
  /// `finish`, beside whatever the caller does meanwhile.
  /// Fails: kDataLoss for the first that is small and damaged, in the order of adding.
  Status start();
  /// Compares the rest. Fails: as `start`, of all data; kCancelled once `stop` is requested.
  Status finish();

 private:
  struct Item {
    Bytes data;
    std::string what;
  };

  /// Data that several threads read, the largest first, so that they end together.
  class Reading {
   public:
    Reading() = default;
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() { next_ = data_.size(); }  // helpers end with what they are at

    void start(const Verification& verification, std::vector<Bytes> data);
    /// Of the data that begins there.
    bool has(const std::byte* data) const { return is_whole_.contains(data); }
    /// The caller reads, too.
    void finish();
    /// After `finish`.
    bool is_whole(const std::byte* data) const { return is_whole_.at(data); }

   private:
    void work();

    const Verification* verification_ = nullptr;
    std::vector<Bytes> data_;
    std::map<const std::byte*, bool> is_whole_;
    std::atomic<std::size_t> next_ = 0;
    std::vector<std::jthread> helpers_;  ///< last: they use all of the above
  };

  const package::Executable& executable_;
  std::size_t max_threads_;
  std::stop_token stop_;
  std::vector<Item> items_;
  Reading ahead_;
  Reading rest_;
};

}  // namespace sluice::exec
