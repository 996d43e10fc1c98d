// Data parallelism: the rows of one batch are divided over replicas of a model.
//
//   auto parallel = sluice::DataParallel::create({&left, &right});  // loaded models
//   auto outputs = parallel->run({sluice::tensor<float>("image", images, {7, 1, 8, 8})});
//   if (!outputs) return fail(outputs.error());
//   for (float p : outputs->front().values<float>()) ...
//
// The replicas are models of any runtime: of groups of cores in this process, or of a daemon.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/request.hpp"

namespace sluice {

/// An output of all rows, row-major.
struct JoinedOutput {
  std::string name = {};
  std::int32_t element_type = 0;
  std::vector<std::int64_t> dims = {};
  std::vector<std::byte> bytes = {};

  /// Requires: `element_type` is that of T.
  template <typename T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

/// Divides batches over models that compute the same. Any thread may call it; it borrows the
/// models, which are started.
class DataParallel {
 public:
  /// Fails: kInvalidArgument  no replica; replicas of different types; an input or output whose
  ///                          first dimension is not the batch, or of strings
  static Expected<DataParallel> create(std::vector<const LoadedModel*> replicas) {
    if (replicas.empty()) return Error{Code::kInvalidArgument, "data parallelism needs a model"};
    std::optional<ModelInfo> first;
    for (const LoadedModel* replica : replicas) {
      auto info = replica->info();
      if (!info) return info.error();
      if (first && !are_same(*first, *info)) {
        return Error{Code::kInvalidArgument, "the models take or give different tensors"};
      }
      if (!first) first = std::move(*info);
    }
    const auto rows = rows_of(*first);
    if (!rows) return rows.error();
    return DataParallel(std::move(replicas), std::move(*first), *rows);
  }

  std::size_t num_replicas() const { return replicas_.size(); }

  /// Runs all rows and blocks until they are complete. A model of a fixed number of rows gets as
  /// many chunks as that takes, the last padded with copies of the last row; one of any number gets
  /// a chunk per replica. Chunk i runs on replica i modulo the number of replicas, each of which
  /// has its slots full and one chunk waiting.
  /// Fails: kInvalidArgument  inputs of different numbers of rows, or none; moved from
  ///        as a request      of the first chunk that fails
  Expected<std::vector<JoinedOutput>> run(const std::vector<InputTensor>& inputs,
                                          const RequestOptions& options = {}) const {
    const auto rows = check(inputs);
    if (!rows) return rows.error();
    if (replicas_.empty()) return Error{Code::kInvalidArgument, "there is no model to run"};
    const auto num_replicas = static_cast<std::int64_t>(replicas_.size());
    const std::int64_t size = rows_ > 0 ? rows_ : (*rows + num_replicas - 1) / num_replicas;
    std::vector<std::vector<std::byte>> padded;  // outlives the requests
    std::vector<Request> requests;
    std::vector<JoinedOutput> joined(info_.outputs.size());
    std::size_t num_joined = 0;
    const auto join_next = [&] {
      const std::int64_t begin = static_cast<std::int64_t>(num_joined) * size;
      return join(requests[num_joined++], *rows, size, std::min(size, *rows - begin), joined);
    };
    for (std::int64_t begin = 0; begin < *rows; begin += size) {
      if (requests.size() - num_joined >= max_in_flight()) {
        if (auto error = join_next()) return *error;
      }
      const LoadedModel& replica = *replicas_[requests.size() % replicas_.size()];
      const auto chunk = chunk_of(inputs, begin, std::min(begin + size, *rows), padded);
      auto request = replica.submit(chunk, options);
      if (!request) return request.error();
      requests.push_back(std::move(*request));
    }
    while (num_joined < requests.size()) {
      if (auto error = join_next()) return *error;
    }
    return joined;
  }

 private:
  static constexpr std::int32_t kStrings = 8;  // element type

  DataParallel(std::vector<const LoadedModel*> replicas, ModelInfo info, std::int64_t rows)
      : replicas_(std::move(replicas)), info_(std::move(info)), rows_(rows) {}

  static bool are_same(const ModelInfo& a, const ModelInfo& b) {
    const auto same = [](const TensorInfo& x, const TensorInfo& y) {
      return x.name == y.name && x.type == y.type;
    };
    return std::ranges::equal(a.inputs, b.inputs, same) &&
           std::ranges::equal(a.outputs, b.outputs, same);
  }

  /// The first dimension of all tensors; -1 if the model takes any.
  static Expected<std::int64_t> rows_of(const ModelInfo& info) {
    std::optional<std::int64_t> rows;
    for (const auto* tensors : {&info.inputs, &info.outputs}) {
      for (const TensorInfo& tensor : *tensors) {
        const std::string what = "\"" + tensor.name + "\" is " + tensor.type;
        if (tensor.dims.empty() || tensor.element_type == 0 || tensor.element_type == kStrings) {
          return Error{Code::kInvalidArgument, what + ", which has no rows of numbers to divide"};
        }
        if (rows && *rows != tensor.dims.front()) {
          return Error{Code::kInvalidArgument,
                       what + ", with another first dimension than the others"};
        }
        rows = tensor.dims.front();
      }
    }
    if (!rows || *rows == 0)
      return Error{Code::kInvalidArgument, "the model has no rows to divide"};
    return *rows;
  }

  /// The number of rows.
  Expected<std::int64_t> check(const std::vector<InputTensor>& inputs) const {
    std::optional<std::int64_t> rows;
    for (const InputTensor& input : inputs) {
      const std::int64_t own = input.dims.empty() ? 0 : input.dims.front();
      if (own <= 0 || (rows && *rows != own) || input.size_bytes % own != 0) {
        return Error{Code::kInvalidArgument,
                     "input \"" + input.name + "\" has " + std::to_string(own) +
                         " rows; inputs have at least one, and the same number"};
      }
      rows = own;
    }
    if (!rows) return Error{Code::kInvalidArgument, "no input is given"};
    return *rows;
  }

  /// Rows [begin, end) of the inputs, in their memory unless they must be padded.
  std::vector<InputTensor> chunk_of(const std::vector<InputTensor>& inputs, std::int64_t begin,
                                    std::int64_t end,
                                    std::vector<std::vector<std::byte>>& padded) const {
    std::vector<InputTensor> chunk = inputs;
    const std::int64_t size = rows_ > 0 ? rows_ : end - begin;
    for (InputTensor& input : chunk) {
      const std::int64_t row_bytes = input.size_bytes / input.dims.front();
      auto* data = static_cast<std::byte*>(input.data) + begin * row_bytes;
      if (end - begin < size) {
        std::vector<std::byte>& copy = padded.emplace_back();
        copy.assign(data, data + (end - begin) * row_bytes);
        const std::byte* last = data + (end - begin - 1) * row_bytes;
        for (std::int64_t i = end - begin; i < size; ++i) {
          copy.insert(copy.end(), last, last + row_bytes);
        }
        data = copy.data();
      }
      input.data = data;
      input.size_bytes = size * row_bytes;
      input.dims.front() = size;
    }
    return chunk;
  }

  std::size_t max_in_flight() const {
    const std::int32_t waiting = info_.queue_limit > 0 ? 1 : 0;
    return replicas_.size() * static_cast<std::size_t>(std::max(info_.depth, 1) + waiting);
  }

  /// Waits for a chunk and appends its rows but for the padding.
  [[nodiscard]] std::optional<Error> join(Request& request, std::int64_t rows, std::int64_t size,
                                          std::int64_t taken,
                                          std::vector<JoinedOutput>& joined) const {
    auto reply = request.wait();
    if (!reply) return reply.error();
    for (std::size_t k = 0; k < joined.size(); ++k) {
      auto array = reply->array(info_.outputs[k].name);
      if (!array) return array.error();
      auto error = append(*array, rows, size, taken, info_.outputs[k].name, joined[k]);
      if (error) return error;
    }
    return std::nullopt;
  }

  [[nodiscard]] static std::optional<Error> append(const sluice_array& array, std::int64_t rows,
                                                   std::int64_t size, std::int64_t taken,
                                                   const std::string& name, JoinedOutput& joined) {
    if (array.rank < 1 || (array.dims[0] != size && array.dims[0] != taken)) {
      return Error{Code::kInvalidArgument,
                   "output \"" + name + "\" has other rows than the inputs of its chunk"};
    }
    const std::span<const std::int64_t> dims(array.dims, static_cast<std::size_t>(array.rank));
    if (joined.dims.empty()) {
      joined.name = name;
      joined.element_type = array.element_type;
      joined.dims.assign(dims.begin(), dims.end());
      joined.dims.front() = rows;
    } else if (!std::ranges::equal(dims.subspan(1), std::span(joined.dims).subspan(1))) {
      return Error{Code::kInvalidArgument,
                   "output \"" + name + "\" has another shape in each chunk"};
    }
    const auto* data = static_cast<const std::byte*>(array.data);
    joined.bytes.insert(joined.bytes.end(), data, data + array.size_bytes / dims[0] * taken);
    return std::nullopt;
  }

  std::vector<const LoadedModel*> replicas_;
  ModelInfo info_;
  std::int64_t rows_;  // of a chunk; -1: any
};

}  // namespace sluice
