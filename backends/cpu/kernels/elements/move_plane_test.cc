#include "kernels/elements/move_plane.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "testing/test_isas.h"

namespace sluice::cpu {
namespace {

struct Wide {
  std::uint64_t half[2];
  bool operator==(const Wide& other) const {
    return half[0] == other.half[0] && half[1] == other.half[1];
  }
};

/// Every element of the target, and what lies between and behind: only the plane's are written.
template <typename T>
class Target {
 public:
  Target(const PlaneMove& plane, std::size_t size) : plane_(plane), made_(size) {
    for (std::size_t i = 0; i < size; ++i) made_[i] = value(1000 + i);
    expected_ = made_;
  }
  static T value(std::size_t i) {
    if constexpr (sizeof(T) == 16) {
      return {{i, ~std::uint64_t{i}}};
    } else {
      return static_cast<T>(i * 2654435761U);
    }
  }
  /// Moves from a source of counted elements, its origin at `origin`.
  void move(Isa isa, std::size_t source_size, std::size_t origin) {
    std::vector<T> source(source_size);
    for (std::size_t i = 0; i < source_size; ++i) source[i] = value(i);
    plane_.from = source.data() + origin;
    plane_.to = made_.data();
    SLUICE_CPU_PICK(isa, move_plane)(plane_, sizeof(T));
    for (std::int64_t r = 0; r < plane_.rows; ++r) {
      for (std::int64_t c = 0; c < plane_.cols; ++c) {
        const auto from =
            static_cast<std::int64_t>(origin) + r * plane_.from_row + c * plane_.from_col;
        expected_[static_cast<std::size_t>(r * plane_.to_row + c * plane_.to_col)] =
            source[static_cast<std::size_t>(from)];
      }
    }
  }
  bool is_right() const { return made_ == expected_; }

 private:
  PlaneMove plane_;
  std::vector<T> made_;
  std::vector<T> expected_;
};

template <typename T>
void expect_moves(std::int64_t rows, std::int64_t cols) {
  const auto size = static_cast<std::size_t>((rows + 2) * (cols + 2) * 8 + 64);
  const PlaneMove planes[] = {
      {nullptr, nullptr, 1, rows, cols, 1, rows, cols},          // transposed
      {nullptr, nullptr, 1, rows + 1, cols + 2, 1, rows, cols},  // with gaps
      {nullptr, nullptr, cols, 1, 1, rows, rows, cols},          // the other way
      {nullptr, nullptr, 1, 0, cols, 1, rows, cols},             // filled
      {nullptr, nullptr, 0, 0, cols, 1, rows, cols},
      {nullptr, nullptr, 2 * cols, 2, cols, 1, rows, cols},  // every second, third, fourth, fifth
      {nullptr, nullptr, 3 * cols, 3, cols, 1, rows, cols},
      {nullptr, nullptr, 4 * cols, 4, cols + 1, 1, rows, cols},
      {nullptr, nullptr, 5 * cols, 5, cols, 1, rows, cols},
      {nullptr, nullptr, cols, 1, 2 * cols, 2, rows, cols},  // to every second, third, fourth
      {nullptr, nullptr, cols, 1, 3 * cols, 3, rows, cols},
      {nullptr, nullptr, cols, 1, 4 * cols, 4, rows, cols},
      {nullptr, nullptr, cols, 1, cols, 1, rows, cols},
      {nullptr, nullptr, -cols, -1, cols, 1, rows, cols},  // backwards
      {nullptr, nullptr, -1, rows, cols, 1, rows, cols},
  };
  for (const Isa isa : isas_to_test()) {
    for (const PlaneMove& plane : planes) {
      Target<T> target(plane, size);
      target.move(isa, size, plane.from_row < 0 ? static_cast<std::size_t>(rows * cols) : 0);
      EXPECT_TRUE(target.is_right())
          << isa_name(isa) << " " << rows << "x" << cols << " by " << plane.from_row << ", "
          << plane.from_col << " to " << plane.to_row << ", " << plane.to_col;
    }
  }
}

TEST(MovePlane, MovesItsElementsAndNoOthers) {
  for (const auto& [rows, cols] : {std::pair{1, 1},
                                   {3, 50},
                                   {50, 3},
                                   {2, 33},
                                   {33, 4},
                                   {16, 16},
                                   {64, 49},
                                   {17, 31},
                                   {5, 7},
                                   {35, 2},
                                   {1, 40},
                                   {40, 1},
                                   {3, 1500}}) {
    expect_moves<std::uint8_t>(rows, cols);
    expect_moves<std::uint16_t>(rows, cols);
    expect_moves<std::uint32_t>(rows, cols);
    expect_moves<std::uint64_t>(rows, cols);
    expect_moves<Wide>(rows, cols);
  }
}

}  // namespace
}  // namespace sluice::cpu
