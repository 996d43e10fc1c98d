// What happened, a line of text per event. docs/sim.md lists them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sluice::sim {

class EventLog {
 public:
  /// Past `limit_bytes` it ends with a line that says so; 0 keeps none.
  explicit EventLog(std::int64_t limit_bytes) : limit_(static_cast<std::size_t>(limit_bytes)) {}

  /// `add(1200, "kernel_start", "stream=", 3, " op=", kind)` -> "1200 kernel_start stream=3 op=Add"
  template <typename... Parts>
  void add(std::int64_t now_ns, std::string_view event, const Parts&... parts) {
    if (is_full_) return;
    const std::size_t before = text_.size();
    text_ += std::to_string(now_ns);
    text_ += ' ';
    text_ += event;
    if constexpr (sizeof...(Parts) > 0) text_ += ' ';
    (append(parts), ...);
    text_ += '\n';
    if (text_.size() <= limit_) return;
    is_full_ = true;
    text_.resize(before);
    if (limit_ > 0) text_ += "... max_log_bytes is reached\n";
  }

  const std::string& text() const { return text_; }

 private:
  void append(std::string_view part) { text_ += part; }
  void append(std::int64_t part) { text_ += std::to_string(part); }

  std::string text_;
  std::size_t limit_;
  bool is_full_ = false;
};

}  // namespace sluice::sim
