// Copies and fills. A copy from the host takes its bytes before it returns; one to the host waits.
#include <algorithm>
#include <cstring>

#include "guest/runtime/abi.h"
#include "guest/runtime/connection.h"
#include "guest/runtime/memory.h"
#include "guest/runtime/registry.h"
#include "guest/runtime/streams.h"

namespace sluice::guest {
namespace {

/// `is_checked`: the last piece waits for the proxy's answer, so that the call itself returns the
/// error.
Error copy_in(void* to, const void* from, std::size_t bytes, std::uint64_t stream,
              bool is_checked) {
  auto rest = std::span(static_cast<const std::byte*>(from), bytes);
  std::uint64_t target = number_of(to);
  while (!rest.empty()) {
    const auto piece = rest.first(std::min<std::size_t>(rest.size(), kMaxPayloadBytes));
    const Body body =
        to_body(MemoryBody{.target = target, .stream = stream, .rest_bytes = rest.size()});
    rest = rest.subspan(piece.size());
    target += piece.size();
    const Error error = is_checked && rest.empty()
                            ? Connection::get().ask(CallKind::kCopyIn, body, piece)
                            : Connection::get().post(CallKind::kCopyIn, body, piece);
    if (error != Error::kSuccess) return error;
  }
  return Error::kSuccess;
}

Error copy_out(void* to, const void* from, std::size_t bytes, std::uint64_t stream) {
  auto rest = std::span(static_cast<std::byte*>(to), bytes);
  std::uint64_t source = number_of(from);
  while (!rest.empty()) {
    const auto piece = rest.first(std::min<std::size_t>(rest.size(), kMaxPayloadBytes));
    const MemoryBody body = {
        .source = source, .bytes = piece.size(), .stream = stream, .rest_bytes = rest.size()};
    rest = rest.subspan(piece.size());
    source += piece.size();
    const Error error = Connection::get().ask_into(CallKind::kCopyOut, to_body(body), piece);
    if (error != Error::kSuccess) return error;
  }
  return Error::kSuccess;
}

Error copy_on_host(void* to, const void* from, std::size_t bytes, std::uint64_t stream) {
  const Error error =
      Connection::get().ask(CallKind::kStreamWait, to_body(HandleBody{.handle = stream}));
  if (error == Error::kSuccess) std::memcpy(to, from, bytes);
  return error;
}

Error copy_within(void* to, const void* from, std::size_t bytes, std::uint64_t stream,
                  bool is_checked) {
  const Body body = to_body(MemoryBody{
      .target = number_of(to), .source = number_of(from), .bytes = bytes, .stream = stream});
  return is_checked ? Connection::get().ask(CallKind::kCopyWithin, body)
                    : Connection::get().post(CallKind::kCopyWithin, body);
}

CopyKind infer(const void* to, const void* from) {
  if (is_on_device(to)) {
    return is_on_device(from) ? CopyKind::kDeviceToDevice : CopyKind::kHostToDevice;
  }
  return is_on_device(from) ? CopyKind::kDeviceToHost : CopyKind::kHostToHost;
}

Error copy(void* to, const void* from, std::size_t bytes, int kind, std::uint64_t stream,
           bool is_checked) {
  if (bytes == 0) return Error::kSuccess;
  if (to == nullptr || from == nullptr) return Error::kInvalidValue;
  auto direction = static_cast<CopyKind>(kind);
  if (direction == CopyKind::kDefault) direction = infer(to, from);
  switch (direction) {
    case CopyKind::kHostToHost: return copy_on_host(to, from, bytes, stream);
    case CopyKind::kHostToDevice: return copy_in(to, from, bytes, stream, is_checked);
    case CopyKind::kDeviceToHost: return copy_out(to, from, bytes, stream);
    case CopyKind::kDeviceToDevice: return copy_within(to, from, bytes, stream, is_checked);
    default: return Error::kInvalidMemcpyDirection;
  }
}

struct Rows {
  std::size_t to_pitch, from_pitch, width, height;
};

Error copy_rows(void* to, const void* from, const Rows& rows, int kind, std::uint64_t stream,
                bool is_checked) {
  if (rows.width > rows.to_pitch || rows.width > rows.from_pitch) return Error::kInvalidValue;
  if (rows.width == rows.to_pitch && rows.width == rows.from_pitch && rows.width > 0) {
    if (rows.height > SIZE_MAX / rows.width) return Error::kInvalidValue;
    return copy(to, from, rows.width * rows.height, kind, stream, is_checked);
  }
  for (std::size_t row = 0; row < rows.height; ++row) {
    const Error error = copy(static_cast<std::byte*>(to) + row * rows.to_pitch,
                             static_cast<const std::byte*>(from) + row * rows.from_pitch,
                             rows.width, kind, stream, is_checked);
    if (error != Error::kSuccess) return error;
  }
  return Error::kSuccess;
}

Error fill(void* to, int value, std::size_t bytes, std::uint64_t stream, bool is_checked) {
  if (bytes == 0) return Error::kSuccess;
  const Body body = to_body(MemoryBody{.target = number_of(to),
                                       .bytes = bytes,
                                       .stream = stream,
                                       .value = static_cast<unsigned char>(value)});
  return is_checked ? Connection::get().ask(CallKind::kFill, body)
                    : Connection::get().post(CallKind::kFill, body);
}

Error fill_rows(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                std::uint64_t stream, bool is_checked) {
  if (width > pitch) return Error::kInvalidValue;
  for (std::size_t row = 0; row < height; ++row) {
    const Error error =
        fill(static_cast<std::byte*>(to) + row * pitch, value, width, stream, is_checked);
    if (error != Error::kSuccess) return error;
  }
  return Error::kSuccess;
}

/// Both devices are the guest's one.
Error copy_between(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                   std::uint64_t stream, bool is_checked) {
  if (to_device != 0 || from_device != 0) return Error::kInvalidDevice;
  return copy(to, from, bytes, static_cast<int>(CopyKind::kDeviceToDevice), stream, is_checked);
}

/// The address `offset` bytes into a device variable, if `bytes` more fit.
Error symbol_address(const void* symbol, std::size_t offset, std::size_t bytes, void** address) {
  DeviceVariable* variable = nullptr;
  const Error error = Registry::get().load_variable(symbol, &variable);
  if (error != Error::kSuccess) return error;
  if (offset > variable->bytes || bytes > variable->bytes - offset) return Error::kInvalidValue;
  *address = reinterpret_cast<void*>(variable->address + offset);  // NOLINT
  return Error::kSuccess;
}

Error copy_to_symbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                     int kind, std::uint64_t stream, bool is_checked) {
  void* address = nullptr;
  const Error error = symbol_address(symbol, offset, bytes, &address);
  return error == Error::kSuccess ? copy(address, from, bytes, kind, stream, is_checked) : error;
}

Error copy_from_symbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                       int kind, std::uint64_t stream, bool is_checked) {
  void* address = nullptr;
  const Error error = symbol_address(symbol, offset, bytes, &address);
  return error == Error::kSuccess ? copy(to, address, bytes, kind, stream, is_checked) : error;
}

Error symbol_size(std::size_t* bytes, const void* symbol) {
  DeviceVariable* variable = nullptr;
  const Error error = Registry::get().load_variable(symbol, &variable);
  if (error == Error::kSuccess) *bytes = variable->bytes;
  return error;
}

}  // namespace
}  // namespace sluice::guest

using sluice::guest::kDefaultStream;
using sluice::guest::note;
using sluice::guest::stream_number;

SLUICE_GUEST_EXPORT int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return note(sluice::guest::copy(to, from, bytes, kind, kDefaultStream, true));
}
SLUICE_GUEST_EXPORT int cudaMemcpy_ptds(void* to, const void* from, std::size_t bytes, int kind) {
  return note(sluice::guest::copy(to, from, bytes, kind, stream_number(nullptr, true), true));
}
SLUICE_GUEST_EXPORT int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind,
                                        void* stream) {
  return note(sluice::guest::copy(to, from, bytes, kind, stream_number(stream), false));
}
SLUICE_GUEST_EXPORT int cudaMemcpyAsync_ptsz(void* to, const void* from, std::size_t bytes,
                                             int kind, void* stream) {
  return note(sluice::guest::copy(to, from, bytes, kind, stream_number(stream, true), false));
}
SLUICE_GUEST_EXPORT int cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from,
                                     std::size_t from_pitch, std::size_t width, std::size_t height,
                                     int kind) {
  return note(sluice::guest::copy_rows(to, from, {to_pitch, from_pitch, width, height}, kind,
                                       kDefaultStream, true));
}
SLUICE_GUEST_EXPORT int cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                                          std::size_t from_pitch, std::size_t width,
                                          std::size_t height, int kind, void* stream) {
  return note(sluice::guest::copy_rows(to, from, {to_pitch, from_pitch, width, height}, kind,
                                       stream_number(stream), false));
}
SLUICE_GUEST_EXPORT int cudaMemset(void* to, int value, std::size_t bytes) {
  return note(sluice::guest::fill(to, value, bytes, kDefaultStream, true));
}
SLUICE_GUEST_EXPORT int cudaMemset_ptds(void* to, int value, std::size_t bytes) {
  return note(sluice::guest::fill(to, value, bytes, stream_number(nullptr, true), true));
}
SLUICE_GUEST_EXPORT int cudaMemsetAsync(void* to, int value, std::size_t bytes, void* stream) {
  return note(sluice::guest::fill(to, value, bytes, stream_number(stream), false));
}
SLUICE_GUEST_EXPORT int cudaMemsetAsync_ptsz(void* to, int value, std::size_t bytes, void* stream) {
  return note(sluice::guest::fill(to, value, bytes, stream_number(stream, true), false));
}
SLUICE_GUEST_EXPORT int cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                                           std::size_t offset, int kind) {
  return note(
      sluice::guest::copy_to_symbol(symbol, from, bytes, offset, kind, kDefaultStream, true));
}
SLUICE_GUEST_EXPORT int cudaMemcpyToSymbolAsync(const void* symbol, const void* from,
                                                std::size_t bytes, std::size_t offset, int kind,
                                                void* stream) {
  return note(sluice::guest::copy_to_symbol(symbol, from, bytes, offset, kind,
                                            stream_number(stream), false));
}
SLUICE_GUEST_EXPORT int cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes,
                                             std::size_t offset, int kind) {
  return note(
      sluice::guest::copy_from_symbol(to, symbol, bytes, offset, kind, kDefaultStream, true));
}
SLUICE_GUEST_EXPORT int cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                                  std::size_t offset, int kind, void* stream) {
  return note(sluice::guest::copy_from_symbol(to, symbol, bytes, offset, kind,
                                              stream_number(stream), false));
}
SLUICE_GUEST_EXPORT int cudaGetSymbolAddress(void** address, const void* symbol) {
  return note(sluice::guest::symbol_address(symbol, 0, 0, address));
}
SLUICE_GUEST_EXPORT int cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  return note(sluice::guest::symbol_size(bytes, symbol));
}
SLUICE_GUEST_EXPORT int cudaMemcpy2D_ptds(void* to, std::size_t to_pitch, const void* from,
                                          std::size_t from_pitch, std::size_t width,
                                          std::size_t height, int kind) {
  return note(sluice::guest::copy_rows(to, from, {to_pitch, from_pitch, width, height}, kind,
                                       stream_number(nullptr, true), true));
}
SLUICE_GUEST_EXPORT int cudaMemcpy2DAsync_ptsz(void* to, std::size_t to_pitch, const void* from,
                                               std::size_t from_pitch, std::size_t width,
                                               std::size_t height, int kind, void* stream) {
  return note(sluice::guest::copy_rows(to, from, {to_pitch, from_pitch, width, height}, kind,
                                       stream_number(stream, true), false));
}
SLUICE_GUEST_EXPORT int cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                                     std::size_t height) {
  return note(sluice::guest::fill_rows(to, pitch, value, width, height, kDefaultStream, true));
}
SLUICE_GUEST_EXPORT int cudaMemset2D_ptds(void* to, std::size_t pitch, int value, std::size_t width,
                                          std::size_t height) {
  return note(sluice::guest::fill_rows(to, pitch, value, width, height,
                                       stream_number(nullptr, true), true));
}
SLUICE_GUEST_EXPORT int cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                                          std::size_t height, void* stream) {
  return note(
      sluice::guest::fill_rows(to, pitch, value, width, height, stream_number(stream), false));
}
SLUICE_GUEST_EXPORT int cudaMemset2DAsync_ptsz(void* to, std::size_t pitch, int value,
                                               std::size_t width, std::size_t height,
                                               void* stream) {
  return note(sluice::guest::fill_rows(to, pitch, value, width, height, stream_number(stream, true),
                                       false));
}
SLUICE_GUEST_EXPORT int cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                                       std::size_t bytes) {
  return note(
      sluice::guest::copy_between(to, to_device, from, from_device, bytes, kDefaultStream, true));
}
SLUICE_GUEST_EXPORT int cudaMemcpyPeerAsync(void* to, int to_device, const void* from,
                                            int from_device, std::size_t bytes, void* stream) {
  return note(sluice::guest::copy_between(to, to_device, from, from_device, bytes,
                                          stream_number(stream), false));
}
SLUICE_GUEST_EXPORT int cudaMemcpyToSymbol_ptds(const void* symbol, const void* from,
                                                std::size_t bytes, std::size_t offset, int kind) {
  return note(sluice::guest::copy_to_symbol(symbol, from, bytes, offset, kind,
                                            stream_number(nullptr, true), true));
}
SLUICE_GUEST_EXPORT int cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* from,
                                                     std::size_t bytes, std::size_t offset,
                                                     int kind, void* stream) {
  return note(sluice::guest::copy_to_symbol(symbol, from, bytes, offset, kind,
                                            stream_number(stream, true), false));
}
SLUICE_GUEST_EXPORT int cudaMemcpyFromSymbol_ptds(void* to, const void* symbol, std::size_t bytes,
                                                  std::size_t offset, int kind) {
  return note(sluice::guest::copy_from_symbol(to, symbol, bytes, offset, kind,
                                              stream_number(nullptr, true), true));
}
SLUICE_GUEST_EXPORT int cudaMemcpyFromSymbolAsync_ptsz(void* to, const void* symbol,
                                                       std::size_t bytes, std::size_t offset,
                                                       int kind, void* stream) {
  return note(sluice::guest::copy_from_symbol(to, symbol, bytes, offset, kind,
                                              stream_number(stream, true), false));
}
