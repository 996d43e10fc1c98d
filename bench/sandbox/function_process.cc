// A process of its own for a function, in C++ over the library: what function_process.py is in
// Python.
//
//     function_process [--join ROWS] MODEL.sluice [MODEL.sluice ...]      # the socket is
//     descriptor 3
//
// A message is a header of three 64-bit numbers (request, function, bytes), then the input tensors
// one after another; an answer is the same with the outputs. Requests are served in order on one
// thread: one at a time, or with --join up to ROWS that have arrived for one function as the rows
// of one run.
#include <sluice/sluice.hpp>
#include <sys/socket.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace sluice::bench {
namespace {

constexpr int kSocket = 3;
constexpr std::size_t kReceiveBytes = 1 << 20;

/// As in process_target.cc.
struct Header {
  std::uint64_t request = 0;
  std::uint64_t function = 0;
  std::uint64_t size_bytes = 0;
};

struct Message {
  Header header;
  const std::byte* payload = nullptr;
};

void check(sluice_code code, const char* what) {
  if (code == SLUICE_OK) return;
  std::fprintf(stderr, "function_process: %s: %s\n", what, sluice_last_error());
  std::exit(1);
}

/// Bytes of an element, by ONNX's numbers; the networks of the benchmark have no others.
std::size_t size_of(std::int32_t element_type) {
  switch (element_type) {
    case 2:
    case 3:
    case 9: return 1;
    case 1:
    case 6: return 4;
    case 7:
    case 11: return 8;
    default: break;
  }
  std::fprintf(stderr, "function_process: element type %d\n", element_type);
  std::exit(1);
}

/// A model on one thread. An input has room for the rows of a run.
class Function {
 public:
  Function(const char* path, std::size_t max_rows) {
    sluice_open_options options = {};
    options.struct_size = sizeof(options);
    options.num_threads = 1;
    check(sluice_model_open(path, &options, &model_), path);
    check(sluice_context_create(model_, &context_), path);
    for (std::size_t i = 0; i < sluice_model_num_inputs(model_); ++i) {
      const sluice_tensor_spec& spec = *sluice_model_input(model_, i);
      Input input = {spec.name, spec.element_type, {spec.dims, spec.dims + spec.rank}, 0, {}};
      input.row_bytes = size_of(spec.element_type);
      for (std::int64_t& dim : input.dims) {
        dim = dim < 0 ? 1 : dim;  // a symbol
        input.row_bytes *= static_cast<std::size_t>(dim);
      }
      input.rows.resize(input.row_bytes * max_rows);
      inputs_.push_back(std::move(input));
    }
  }

  /// Appends the answers to the messages, of one run. Several messages have a row each.
  void answer(const Message* messages, std::size_t count, std::vector<std::byte>& to) {
    std::size_t offset = 0;
    for (Input& input : inputs_) {
      for (std::size_t row = 0; row < count; ++row) {
        std::memcpy(input.rows.data() + row * input.row_bytes, messages[row].payload + offset,
                    input.row_bytes);
      }
      offset += input.row_bytes;
      if (count > 1 || has_joined_) input.dims.front() = static_cast<std::int64_t>(count);
      const sluice_array array = {
          input.rows.data(), static_cast<std::int64_t>(input.row_bytes * count), input.element_type,
          static_cast<std::int32_t>(input.dims.size()), input.dims.data()};
      check(sluice_context_set_input(context_, input.name.c_str(), &array), input.name.c_str());
    }
    has_joined_ = has_joined_ || count > 1;
    check(sluice_context_run(context_), "run");
    std::vector<sluice_array> outputs(sluice_model_num_outputs(model_));
    std::size_t size_bytes = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const char* name = sluice_model_output(model_, i)->name;
      check(sluice_context_output(context_, name, &outputs[i]), name);
      size_bytes += static_cast<std::size_t>(outputs[i].size_bytes) / count;
    }
    for (std::size_t row = 0; row < count; ++row) {
      Header header = messages[row].header;
      header.size_bytes = size_bytes;
      append(&header, sizeof(header), to);
      for (const sluice_array& output : outputs) {
        const std::size_t row_bytes = static_cast<std::size_t>(output.size_bytes) / count;
        append(static_cast<const std::byte*>(output.data) + row * row_bytes, row_bytes, to);
      }
    }
  }

 private:
  struct Input {
    std::string name;
    std::int32_t element_type = 0;
    std::vector<std::int64_t> dims;
    std::size_t row_bytes = 0;
    std::vector<std::byte> rows;
  };

  static void append(const void* from, std::size_t size, std::vector<std::byte>& to) {
    const auto* bytes = static_cast<const std::byte*>(from);
    to.insert(to.end(), bytes, bytes + size);
  }

  sluice_model* model_ = nullptr;  // both live as long as the process
  sluice_context* context_ = nullptr;
  std::vector<Input> inputs_;
  bool has_joined_ = false;
};

/// What has arrived.
class Arrivals {
 public:
  /// At least one message, whose payloads last until the next call; none at the end.
  const std::vector<Message>& next() {
    std::memmove(buffer_.data(), buffer_.data() + taken_, size_ - taken_);
    size_ -= std::exchange(taken_, 0);
    messages_.clear();
    while (true) {
      find_messages();
      if (!messages_.empty()) return messages_;
      if (size_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
      const ssize_t received = recv(kSocket, buffer_.data() + size_, buffer_.size() - size_, 0);
      if (received <= 0) return messages_;
      size_ += static_cast<std::size_t>(received);
    }
  }

 private:
  void find_messages() {
    Header header;
    while (size_ - taken_ >= sizeof(header)) {
      std::memcpy(&header, buffer_.data() + taken_, sizeof(header));
      if (size_ - taken_ - sizeof(header) < header.size_bytes) return;
      messages_.push_back({header, buffer_.data() + taken_ + sizeof(header)});
      taken_ += sizeof(header) + header.size_bytes;
    }
  }

  std::vector<std::byte> buffer_ = std::vector<std::byte>(kReceiveBytes);
  std::size_t size_ = 0;   ///< that have arrived
  std::size_t taken_ = 0;  ///< of them, as messages
  std::vector<Message> messages_;
};

bool send_all(const std::vector<std::byte>& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t size = send(kSocket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (size <= 0) return false;
    sent += static_cast<std::size_t>(size);
  }
  return true;
}

void serve(std::vector<Function>& functions, std::size_t max_rows) {
  Arrivals arrivals;
  std::vector<std::byte> answers;
  while (true) {
    const std::vector<Message>& arrived = arrivals.next();
    if (arrived.empty()) return;
    for (std::size_t at = 0; at < arrived.size();) {
      const std::uint64_t function = arrived[at].header.function;
      std::size_t end = at + 1;
      while (end < arrived.size() && end - at < max_rows &&
             arrived[end].header.function == function) {
        ++end;
      }
      answers.clear();
      functions.at(function).answer(&arrived[at], end - at, answers);
      if (!send_all(answers)) return;
      at = end;
    }
  }
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  int at = 1;
  std::size_t max_rows = 1;
  if (argc > 2 && std::string(argv[1]) == "--join") {
    max_rows = std::strtoul(argv[2], nullptr, 10);
    at = 3;
  }
  if (at >= argc || max_rows == 0) {
    std::fprintf(stderr, "usage: function_process [--join ROWS] MODEL.sluice ...\n");
    return 2;
  }
  std::vector<sluice::bench::Function> functions;
  functions.reserve(static_cast<std::size_t>(argc - at));
  for (; at < argc; ++at) functions.emplace_back(argv[at], max_rows);
  sluice::bench::serve(functions, max_rows);
  return 0;
}
