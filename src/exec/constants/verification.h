// Verifies the checksums of all data that a load uses.
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

/// Collects data and checks it with several threads: verification is limited by memory bandwidth,
/// and one core cannot use all of it. The object itself is used by one thread.
class Verification {
 public:
  /// At most `num_threads` threads read, the caller included (0: as many as the process may use).
  /// `executable` outlives this.
  Verification(const package::Executable& executable, int num_threads, std::stop_token stop);
  Verification(const Verification&) = delete;
  Verification& operator=(const Verification&) = delete;
  ~Verification() = default;

  /// Starts to check the large parts of `data` in the background, before the load knows which of
  /// them it uses. Damage in parts that are never added is ignored. Called at most once, before
  /// `add`.
  void read_ahead(std::vector<Bytes> data);
  /// Before `start`. `what` names the data in the message.
  void add(Bytes data, std::string what);

  /// Checks small data now, because shapes depend on it, and starts to check large data in the
  /// background.
  /// Fails: kDataLoss naming the first damaged small data in the order of `add`.
  Status start();
  /// Waits for the checks of large data.
  /// Fails: as `start`, for all data; kCancelled once `stop` is requested.
  Status finish();

 private:
  struct Item {
    Bytes data;
    std::string what;
  };

  /// Data that several threads check. The largest comes first, so that the threads end at about the
  /// same time.
  class Reading {
   public:
    Reading() = default;
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() { next_ = data_.size(); }  // helpers finish their current item, then end

    void start(const Verification& verification, std::vector<Bytes> data);
    /// Whether data that begins at this address is being checked.
    bool has(const std::byte* data) const { return is_whole_.contains(data); }
    /// Blocks until all data is checked; the calling thread takes part.
    void finish();
    /// After `finish`.
    bool is_whole(const std::byte* data) const { return is_whole_.at(data); }

   private:
    void work();

    const Verification* verification_ = nullptr;
    std::vector<Bytes> data_;
    std::map<const std::byte*, bool> is_whole_;
    std::atomic<std::size_t> next_ = 0;
    std::vector<std::jthread> helpers_;  ///< last member, destroyed first: threads use the others
  };

  const package::Executable& executable_;
  std::size_t max_threads_;
  std::stop_token stop_;
  std::vector<Item> items_;
  Reading ahead_;
  Reading rest_;
};

}  // namespace sluice::exec
