#include "http/coding.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/no_memory.h"
#include "base/utf8.h"

namespace sluice::http {
namespace {

constexpr int kZlibBits = 15;  // the largest window; what clients send
constexpr int kGzipBits = 16 + kZlibBits;
constexpr int kMemoryLevel = 8;  // zlib's own choice
constexpr std::size_t kStepBytes = std::size_t{64} << 10;

int bits_of(Coding coding) { return coding == Coding::kGzip ? kGzipBits : kZlibBits; }

/// zlib counts in 32 bits, and takes its input as bytes that it could change.
uInt step_of(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}
Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

/// Ends zlib's stream with the scope.
struct Stream : z_stream {
  explicit Stream(int (*end)(z_streamp)) : z_stream{}, end_(end) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { end_(this); }

 private:
  int (*end_)(z_streamp);
};

Status no_memory() { return make_error(Code::kResourceExhausted, "no memory for zlib"); }

/// "0", "0.0" and so on: the client does not want it.
bool is_zero(std::string_view weight) {
  return weight.find_first_not_of("0.") == std::string_view::npos && weight.starts_with('0');
}

}  // namespace

std::string_view coding_name(Coding coding) { return coding == Coding::kGzip ? "gzip" : "deflate"; }

std::optional<Coding> find_coding(std::string_view content_encoding) {
  const std::string_view name = trimmed(content_encoding);
  if (is_same_word(name, "gzip") || is_same_word(name, "x-gzip")) return Coding::kGzip;
  if (is_same_word(name, "deflate")) return Coding::kDeflate;
  if (is_same_word(name, "identity")) return Coding::kIdentity;
  return std::nullopt;
}

/// Weights above 0 are taken for equal: a client names a coding to have it.
Coding choose_coding(std::string_view accept_encoding) {
  Coding chosen = Coding::kIdentity;
  while (!accept_encoding.empty()) {
    const std::size_t size = std::min(accept_encoding.find(','), accept_encoding.size());
    const std::string_view entry = accept_encoding.substr(0, size);
    accept_encoding.remove_prefix(std::min(size + 1, accept_encoding.size()));
    const std::size_t name_size = std::min(entry.find(';'), entry.size());
    const std::string_view weight = trimmed(entry.substr(std::min(name_size + 1, entry.size())));
    if (weight.size() > 2 && is_zero(trimmed(weight.substr(2)))) continue;
    const auto coding = find_coding(entry.substr(0, name_size));
    if (coding == Coding::kGzip) return Coding::kGzip;
    if (coding == Coding::kDeflate) chosen = Coding::kDeflate;
  }
  return chosen;
}

Status decode(std::string_view coded, Coding coding, Body& to) {
  if (coded.empty()) return make_error(Code::kDataLoss, "the body is empty");
  Stream stream(inflateEnd);
  if (inflateInit2(&stream, bits_of(coding)) != Z_OK) return no_memory();
  SLUICE_TRY(to.reserve(to.size() + coded.size()));
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    stream.next_in = bytes_of(coded);
    stream.avail_in = step_of(coded.size());
    stream.next_out = reinterpret_cast<Bytef*>(to.end());
    stream.avail_out = step_of(std::min(to.room(), kStepBytes));
    const uInt num_given = stream.avail_in;
    const uInt num_wanted = stream.avail_out;
    result = inflate(&stream, Z_NO_FLUSH);
    coded.remove_prefix(num_given - stream.avail_in);
    to.add(num_wanted - stream.avail_out);
    if (result == Z_MEM_ERROR) return no_memory();
    if (result != Z_OK && result != Z_BUF_ERROR && result != Z_STREAM_END) {
      return make_error(Code::kDataLoss, "the body is no {}", coding_name(coding));
    }
    if (result == Z_STREAM_END) break;
    // Grows only for bytes that are there: a body of exactly the limit ends without more room.
    if (to.room() == 0) {
      SLUICE_TRY(to.reserve(to.size() + 1));
    } else if (result == Z_BUF_ERROR) {
      return make_error(Code::kDataLoss, "the body ends within its {}", coding_name(coding));
    }
  }
  if (coded.empty()) return ok_status();
  return make_error(Code::kDataLoss, "{} bytes follow the end of the body's {}", coded.size(),
                    coding_name(coding));
}

namespace {

/// Throws std::bad_alloc without memory.
Result<std::string> deflated(std::span<const std::string_view> parts, Coding coding) {
  Stream stream(deflateEnd);
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, bits_of(coding), kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return no_memory();
  }
  std::string coded;
  std::array<char, kStepBytes> step = {};
  const auto put = [&](std::string_view bytes, int flush) {
    int result = Z_OK;
    do {
      stream.next_in = bytes_of(bytes);
      stream.avail_in = step_of(bytes.size());
      stream.next_out = reinterpret_cast<Bytef*>(step.data());
      stream.avail_out = step_of(step.size());
      const uInt num_given = stream.avail_in;
      result = deflate(&stream, flush);
      bytes.remove_prefix(num_given - stream.avail_in);
      coded.append(step.data(), step.size() - stream.avail_out);
    } while (!bytes.empty() || stream.avail_out == 0 || (flush == Z_FINISH && result == Z_OK));
  };
  for (const std::string_view part : parts) put(part, Z_NO_FLUSH);
  put({}, Z_FINISH);
  return coded;
}

}  // namespace

Result<std::string> encode(std::span<const std::string_view> parts, Coding coding) {
  return catch_no_memory([&] { return deflated(parts, coding); });
}

}  // namespace sluice::http
