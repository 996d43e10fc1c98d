// A worker's profile in messages of the channel, and its check by the daemon.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>

#include "terms/server/profile.h"

namespace sluice::worker {

/// Writes a profile page by page. A page has "models", "names" and "spans", each a part of the
/// profile's list, and "is_last"; the first one also has the times. Each fits kMaxMessageBytes.
class ProfilePages {
 public:
  explicit ProfilePages(terms::Profile profile) : cursor_(std::move(profile)) {}
  nlohmann::json next();
  bool is_done() const { return has_begun_ && cursor_.is_at_end(); }

 private:
  terms::ProfileCursor cursor_;
  bool has_begun_ = false;
};

/// Reads the pages of a worker, which may be hostile. Lists have bounds, and every index leads to
/// an element that a page before or this one has.
class ProfileReader {
 public:
  explicit ProfileReader(std::int64_t max_spans) : max_spans_(max_spans) {}
  /// Whether it was the last one. Fails: kInvalidArgument naming the field.
  Result<bool> add(const nlohmann::json& page);
  terms::Profile take() { return std::move(profile_); }

 private:
  std::int64_t max_spans_;
  terms::Profile profile_;
};

}  // namespace sluice::worker
