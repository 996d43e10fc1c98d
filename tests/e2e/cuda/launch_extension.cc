// Runs the launches of a torch extension without torch: arrays of files in, arrays of files out.
//
//   launch_extension DRIVER FOLDER CALLS INPUT...   writes FOLDER/output_0, ...
//
// INPUT is a file of bytes, or "-" for an input that the call leaves out. Calls CALLS times. Exits
// 2 with the message of an error. torch_extension.py compiles it with the sources of the extension.
#include <dlfcn.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "launch.h"

namespace {

using sluice_extension::kNetwork;
using Bytes = std::vector<char>;

// What this program needs of the driver besides what launch.cc takes.
struct Machine {
  int (*init)(unsigned flags);
  int (*retain)(void** context, int device);
  int (*set_current)(void* context);
  int (*allocate)(std::uint64_t* address, std::size_t bytes);
  int (*to_device)(std::uint64_t target, const void* source, std::size_t bytes, void* stream);
  int (*to_host)(void* target, std::uint64_t source, std::size_t bytes, void* stream);
  int (*make_stream)(void** stream, unsigned flags, int priority);
  int (*wait)(void* stream);
  const char* (*explain)();
};

Machine machine;

void check(int result, const char* what) {
  if (result != 0)
    throw std::runtime_error(std::string(what) + ": " + std::to_string(result) + " " +
                             machine.explain());
}

void open_machine(const char* path) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) throw std::runtime_error(dlerror());
  using Find = int (*)(const char*, void**, int, std::uint64_t, int*);
  const auto find = reinterpret_cast<Find>(dlsym(library, "cuGetProcAddress_v2"));
  const auto bind = [&](const char* name, auto* function) {
    int found = 0;
    find(name, reinterpret_cast<void**>(function), 0, 0, &found);
  };
  bind("cuInit", &machine.init);
  bind("cuDevicePrimaryCtxRetain", &machine.retain);
  bind("cuCtxSetCurrent", &machine.set_current);
  bind("cuMemAlloc", &machine.allocate);
  bind("cuMemcpyHtoDAsync", &machine.to_device);
  bind("cuMemcpyDtoHAsync", &machine.to_host);
  bind("cuStreamCreateWithPriority", &machine.make_stream);
  bind("cuStreamSynchronize", &machine.wait);
  machine.explain = reinterpret_cast<const char* (*)()>(dlsym(library, "sluice_emulated_explain"));
}

std::uint64_t allocate(std::int64_t bytes) {
  std::uint64_t address = 0;
  check(machine.allocate(&address, static_cast<std::size_t>(bytes > 0 ? bytes : 1)), "allocating");
  return address;
}

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void run(const std::string& folder, int calls, const std::vector<std::string>& files) {
  void* context = nullptr;
  void* stream = nullptr;
  check(machine.init(0), "starting");
  check(machine.retain(&context, 0), "opening the device");
  check(machine.set_current(context), "using the device");
  check(machine.make_stream(&stream, 1, 0), "making a stream");
  const std::uint64_t memory = allocate(sluice_extension::Program::memory_bytes(kNetwork));
  sluice_extension::Program program(kNetwork, folder, 0, memory, stream);
  std::vector<Bytes> given;
  std::vector<std::uint64_t> inputs;
  for (const std::string& file : files) {
    given.push_back(file == "-" ? Bytes() : read_file(file));
    inputs.push_back(file == "-" ? 0 : allocate(static_cast<std::int64_t>(given.back().size())));
    if (file == "-") continue;
    check(machine.to_device(inputs.back(), given.back().data(), given.back().size(), stream),
          "copying an input");
  }
  std::vector<std::uint64_t> outputs;
  for (const auto& output : kNetwork.outputs) outputs.push_back(allocate(output.type.bytes));
  for (int call = 0; call < calls; ++call) {
    program.run(inputs, outputs, allocate(kNetwork.workspace_bytes), stream);
    check(machine.wait(stream), "waiting");
  }
  program.check(stream);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Bytes bytes(static_cast<std::size_t>(kNetwork.outputs[i].type.bytes));
    check(machine.to_host(bytes.data(), outputs[i], bytes.size(), stream), "copying an output");
    check(machine.wait(stream), "waiting");
    std::ofstream(folder + "/output_" + std::to_string(i), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    open_machine(arguments[1]);
    run(arguments[2], std::stoi(arguments[3]), {arguments + 4, arguments + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
