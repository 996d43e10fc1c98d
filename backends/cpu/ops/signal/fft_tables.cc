#include "ops/signal/fft_tables.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

namespace sluice::cpu {
namespace {

/// Appends cos and sin of -2 pi turns / whole.
void add_root(std::int64_t turns, std::int64_t whole, std::vector<double>& table) {
  const double angle =
      -2 * std::numbers::pi * static_cast<double>(turns % whole) / static_cast<double>(whole);
  table.push_back(std::cos(angle));
  table.push_back(std::sin(angle));
}

/// The factors of `length`, fours first; empty if one is above kFftMaxRadix.
std::vector<int> factors_of(std::int64_t length) {
  std::vector<int> factors;
  for (const int radix : {4, 2, 3, 5, 7, 11, 13}) {
    for (; length % radix == 0; length /= radix) factors.push_back(radix);
  }
  return length == 1 ? factors : std::vector<int>{};
}

/// The transform of `re` and `im`, a power of two long, in place: decimation in frequency. Results
/// are in the order of reversed bits. One table of roots serves all passes: the sines of each pass
/// anew would take tens of seconds for the longest transforms.
void transform_in_place(std::vector<double>& re, std::vector<double>& im) {
  const std::size_t length = re.size();
  std::vector<double> roots;
  roots.reserve(length);
  for (std::size_t k = 0; k < length / 2; ++k) {
    add_root(static_cast<std::int64_t>(k), static_cast<std::int64_t>(length), roots);
  }
  for (std::size_t width = length; width > 1; width /= 2) {
    for (std::size_t first = 0; first < length; first += width) {
      for (std::size_t k = 0; k < width / 2; ++k) {
        const std::size_t a = first + k;
        const std::size_t b = a + width / 2;
        const double c = roots[2 * k * (length / width)];
        const double s = roots[2 * k * (length / width) + 1];
        const double less_re = re[a] - re[b];
        const double less_im = im[a] - im[b];
        re[a] += re[b];
        im[a] += im[b];
        re[b] = less_re * c - less_im * s;
        im[b] = less_re * s + less_im * c;
      }
    }
  }
}

/// Pairs of `re` and `im`, whose order of reversed bits is undone.
std::vector<double> in_order(const std::vector<double>& re, const std::vector<double>& im) {
  std::vector<double> pairs(2 * re.size());
  const int bits = std::bit_width(re.size()) - 1;
  for (std::size_t i = 0; i < re.size(); ++i) {
    std::size_t reversed = 0;
    for (int bit = 0; bit < bits; ++bit) reversed |= (i >> bit & 1) << (bits - 1 - bit);
    pairs[2 * reversed] = re[i];
    pairs[2 * reversed + 1] = im[i];
  }
  return pairs;
}

}  // namespace

FftTables::FftTables(std::int64_t length) {
  plan_.length = length;
  const bool is_smooth = length == 1 || !factors_of(length).empty();
  const auto convolved = static_cast<std::uint64_t>(2 * length - 1);
  plan_.stages =
      stages_of(is_smooth ? length : static_cast<std::int64_t>(std::bit_ceil(convolved)));
  if (!is_smooth) add_chirp();
}

const double* FftTables::keep(std::vector<double> table) {
  tables_.push_back(std::move(table));
  return tables_.back().data();
}

FftStages FftTables::stages_of(std::int64_t length) {
  FftStages stages;
  stages.length = length;
  std::int64_t n = length;
  for (const int radix : factors_of(length)) {
    std::vector<double> twiddles;
    for (std::int64_t q = 0; q < n / radix; ++q) {
      for (std::int64_t r = 1; r < radix; ++r) add_root(q * r, n, twiddles);
    }
    std::vector<double> roots;
    for (std::int64_t j = 0; radix > 5 && j < radix; ++j) {
      for (std::int64_t k = 0; k < radix; ++k) add_root(j * k, radix, roots);
    }
    stages.radix[stages.count] = radix;
    stages.twiddles[stages.count] = keep(std::move(twiddles));
    stages.roots[stages.count] = keep(std::move(roots));
    ++stages.count;
    n /= radix;
  }
  return stages;
}

/// With jk = (j^2 + k^2 - (k - j)^2) / 2 the transform is a convolution of x[j] c[j] with 1 / c,
/// where c[j] = exp(-i pi j^2 / length).
void FftTables::add_chirp() {
  const std::int64_t length = plan_.length;
  const std::int64_t padded = plan_.stages.length;
  std::vector<double> chirp;
  chirp.reserve(static_cast<std::size_t>(2 * length));
  for (std::int64_t j = 0; j < length; ++j) add_root(j * j, 2 * length, chirp);
  std::vector<double> re(static_cast<std::size_t>(padded));
  std::vector<double> im(re.size());
  for (std::int64_t j = 0; j < length; ++j) {
    // Entry -j wraps around to `padded` - j. 1 / padded is the factor of the inverse transform.
    for (const std::int64_t at : {j, (padded - j) % padded}) {
      re[static_cast<std::size_t>(at)] =
          chirp[static_cast<std::size_t>(2 * j)] / static_cast<double>(padded);
      im[static_cast<std::size_t>(at)] =
          -chirp[static_cast<std::size_t>(2 * j + 1)] / static_cast<double>(padded);
    }
  }
  transform_in_place(re, im);
  plan_.chirp = keep(std::move(chirp));
  plan_.filter = keep(in_order(re, im));
}

double FftTables::operations() const {
  const auto points = static_cast<double>(plan_.stages.length);
  double each = 4;
  for (int i = 0; i < plan_.stages.count; ++i) {
    const int radix = plan_.stages.radix[i];
    each += radix > 5 ? 8 * radix : 8;
  }
  return points * each * (plan_.chirp == nullptr ? 1 : 2);
}

}  // namespace sluice::cpu
