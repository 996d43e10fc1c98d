// Stop sequences: texts that end a generation, found in a stream of pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::generate {

/// Text that may be the begin of a stop sequence is held back until it is known. Used by one thread
/// at a time.
class Stops {
 public:
  /// Empty texts are ignored.
  explicit Stops(std::vector<std::string> stops);

  /// Takes a piece of text and gives what may be shown of it and of what was held back: all that
  /// lies before the first stop sequence. Gives nothing once one was found.
  std::string push(std::string_view piece);
  /// The end of the text: what was held back.
  std::string flush();
  bool is_found() const { return is_found_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool is_found_ = false;
};

}  // namespace sluice::generate
