// Texts by the library in C++: prints what library_texts.py compares, "==" behind each field.
// library_texts.c prints the same.
//
//   library_texts_cpp PACKAGE PROMPT CHAT STOP
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/generate.hpp"

namespace {

void print(const std::string& field) {
  std::fwrite(field.data(), 1, field.size(), stdout);
  std::fputs("\n==\n", stdout);
}

template <typename T>
T must(sluice::Expected<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

/// The text, or the error of the start.
std::string write(sluice::Generator& generator, sluice::GenerateRequest request) {
  if (auto error = generator.start(std::move(request))) return error->message;
  std::string text;
  while (const auto piece = must(generator.next())) text += piece->text;
  return text;
}

void print_end(const sluice::Generator& generator) {
  print(std::to_string(static_cast<int>(generator.finish())) + " " +
        std::to_string(generator.num_prompt_tokens()) + " " +
        std::to_string(generator.num_tokens()));
}

/// The first token and the likeliest two.
void show_logprobs(sluice::Generator& generator, const std::vector<std::int64_t>& ids) {
  (void)generator.start({.ids = ids, .top_logprobs = 2});
  const auto piece = must(generator.next());
  std::printf("%d %.2f", piece->logprobs ? 1 : 0, static_cast<double>(piece->logprobs->chosen));
  for (const sluice_token_logprob& one : piece->logprobs->top) {
    std::printf(" %lld %.2f", static_cast<long long>(one.token), static_cast<double>(one.logprob));
  }
  print("");
}

/// C would cut them: texts that end with a zero in C may have none here.
void refuse_nuls(sluice::Generator& generator, const sluice::Tokenizer& tokenizer) {
  using namespace std::string_literals;
  const sluice::GenerateRequest requests[] = {{.chat = "[]\0"s},
                                              {.prompt = "a", .stops = {"x", "a\0b"s}},
                                              {.prompt = "a", .schema = "{}\0"s},
                                              {.prompt = "a", .grammar = "root ::= \"a\"\0"s},
                                              {.prompt = "a", .bad_words = {"a\0"s}}};
  for (const auto& request : requests) {
    const auto error = generator.start(request);
    if (error && error->message.find("NUL") != std::string::npos) continue;
    std::fprintf(stderr, "a NUL was taken\n");
    std::exit(1);
  }
  if (!tokenizer.apply_chat_template("[]\0"s) && !tokenizer.find("a\0"s)) return;
  std::fprintf(stderr, "the tokenizer took a NUL\n");
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string prompt = argv[2], chat = argv[3], stop = argv[4];
  std::optional<sluice::Model> model = must(sluice::Model::open(argv[1], 1));
  const auto tokenizer = must(sluice::Tokenizer::create(*model));
  auto generator = must(sluice::Generator::create(*model));
  model.reset();  // both keep what they need

  const auto ids = must(tokenizer.encode(prompt));
  std::string numbers;
  for (const std::int64_t id : ids) numbers += std::to_string(id) + " ";
  print(numbers);
  print(must(tokenizer.decode(ids)));
  print(must(tokenizer.piece(ids[0])));
  print(std::to_string(tokenizer.find(must(tokenizer.piece(ids[0]))).value_or(-1)));
  print(must(tokenizer.apply_chat_template(chat)));

  print(write(generator, {.prompt = prompt, .max_tokens = 20}));
  print_end(generator);
  print(write(generator, {.ids = ids, .max_tokens = 20, .stops = {"no such text", stop}}));
  print_end(generator);
  print(write(generator, {.chat = chat, .max_tokens = 8}));
  print_end(generator);

  // A long prompt is two runs at least; the second question ends it, and the text begins anew.
  std::vector<std::int64_t> long_prompt;
  while (long_prompt.size() < 560) long_prompt.insert(long_prompt.end(), ids.begin(), ids.end());
  int asked = 0;
  print(write(generator, {.ids = long_prompt, .is_stopped = [&] { return ++asked > 1; }}));
  print_end(generator);
  print(write(generator, {.ids = long_prompt, .max_tokens = 5}));

  show_logprobs(generator, ids);
  const std::string grammar = "root ::= \"only \" [x]";
  const std::string schema = R"({"const": [1, "a"]})";
  print(write(generator, {.ids = ids, .grammar = grammar}));
  print(write(generator, {.ids = ids, .schema = schema, .grammar = grammar}));
  print(write(generator, {.ids = ids, .schema = schema}));
  print(write(generator, {.ids = ids,
                          .max_tokens = 20,
                          .presence_penalty = 1.5F,
                          .frequency_penalty = 0.5F,
                          .logit_bias = {{ids[0], 3, 0}},
                          .bad_words = {stop}}));
  print(write(generator, {.prompt = prompt, .max_tokens = 100'000}));
  print(write(generator, {.prompt = prompt, .ids = ids}));
  print(write(generator, {.prompt = prompt, .temperature = -1.0F}));
  refuse_nuls(generator, tokenizer);
  return 0;
}
