// A session moves every tensor of a package: constants that were compiled in, or lie in files
// beside it, or come from the program; inputs and outputs in memory or through callbacks. It
// reports what is connected to nothing.
//
//   session digits.sluice
#include "sluice/session.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "show.hpp"

/// Writes ten floats as NumPy stores them.
static void write_npy(const std::string& path, const std::vector<float>& values) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(values.size()) + ",), }";
  header.resize(118 - 1, ' ');
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00\x76\x00", 10);
  file << header << '\n';
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
}

/// Ten numbers, of which the one at `best` makes its class the likeliest.
static std::vector<float> bias(std::size_t best) {
  std::vector<float> values(10, 0);
  values[best] = 1000;
  return values;
}

static std::size_t run(sluice::Session& session) {
  std::vector<float> answer(10);
  must(session.bind_source<float>("image", kSeven, {1, 1, 8, 8}));
  must(session.bind_sink("probabilities", std::span(answer)));
  must(session.load());
  must(session.run_main());
  return static_cast<std::size_t>(std::max_element(answer.begin(), answer.end()) - answer.begin());
}

/// Where "fc.bias" comes from: the package, a file, or the program.
static void constants(const std::string& path, const std::string& folder) {
  auto compiled = must(sluice::Session::create(path));
  show(run(compiled) == 7, "constants that were compiled in recognize the seven");

  write_npy(folder + "/fc.bias.npy", bias(3));
  auto stored = must(sluice::Session::create(path, {.stored_folder = folder}));
  show(run(stored) == 3, "a file beside the package replaces one");

  auto refused = must(sluice::Session::create(
      path, {.stored_folder = folder, .binds_stored = [](const sluice::ProgramTensor& tensor) {
               return tensor.name != "fc.bias";
             }}));
  show(run(refused) == 7, "unless the predicate says no");

  auto given = must(sluice::Session::create(path, {.stored_folder = folder}));
  const std::vector<float> own = bias(5);
  must(given.bind_source<float>("fc.bias", own, {10}));
  show(run(given) == 5, "and the program overrides both");

  std::vector<float> saved(10);
  must(given.bind_sink("fc.bias", std::span(saved)));
  must(given.save());
  show(saved == own, "the program `save` gives the constant back");
}

static void callbacks(const std::string& path) {
  auto session = must(sluice::Session::create(path));
  must(session.load());
  const auto missing = session.verify(SLUICE_PROGRAM_MAIN);
  show(missing.has_value(), "what is not connected is named before a run");
  std::printf("       %s\n", missing->message.c_str());

  int num_asked = 0, num_sevens = 0;
  must(session.bind_source<float>("image", kSeven, {1, 1, 8, 8}));
  must(session.bind_consumer(
      "probabilities", [&](const sluice_array& array) -> std::optional<sluice::Error> {
        num_sevens += is_seven({static_cast<const float*>(array.data), 10}) ? 1 : 0;
        return ++num_asked < 3
                   ? std::nullopt
                   : std::optional(sluice::Error{sluice::Code::kResourceExhausted, "enough"});
      }));
  must(session.run_main());
  must(session.run_main());
  show(num_sevens == 2, "a callback takes the output of every run");
  show(session.run_main()->code == sluice::Code::kResourceExhausted,
       "and fails the run when it wants to");
}

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "digits.sluice";
  char name[] = "/tmp/sluice-session-XXXXXX";
  const std::string folder = mkdtemp(name);
  constants(path, folder);
  callbacks(path);
  std::filesystem::remove_all(folder);
}
