/* Texts by the library in C: prints what library_texts.py compares, as library_texts.cc does.
 *
 *   library_texts_c PACKAGE PROMPT CHAT STOP
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/generate.h"

enum { kLongPrompt = 560 };

static void print(const char* field) { printf("%s\n==\n", field); }

static void must(sluice_code code) {
  if (code == SLUICE_OK) return;
  fprintf(stderr, "%s\n", sluice_last_error());
  exit(1);
}

static void print_string(const sluice_string* text) {
  print(text->data);
  sluice_release(text);
}

static sluice_generate_request empty_request(void) {
  sluice_generate_request request = {0};
  request.struct_size = sizeof(request);
  return request;
}

/* The text, or the error of the start. */
static void write_text(sluice_generator* generator, const sluice_generate_request* request) {
  const sluice_piece* piece = NULL;
  if (sluice_generator_start(generator, request) != SLUICE_OK) {
    print(sluice_last_error());
    return;
  }
  while (1) {
    must(sluice_generator_next(generator, &piece));
    if (piece == NULL) break;
    fwrite(piece->text, 1, piece->size_bytes, stdout);
  }
  print("");
}

static void print_end(const sluice_generator* generator) {
  printf("%d %" PRId64 " %" PRId64 "\n==\n", (int)sluice_generator_finish(generator),
         sluice_generator_num_prompt_tokens(generator), sluice_generator_num_tokens(generator));
}

static int32_t is_second(void* user_data) {
  int* asked = user_data;
  *asked += 1;
  return *asked > 1;
}

/* What a tokenizer says of the prompt and the chat. Returns the tokens of the prompt. */
static const sluice_tokens* show_tokenizer(const sluice_model* model, const char* prompt,
                                           const char* chat) {
  sluice_tokenizer* tokenizer = NULL;
  const sluice_tokens* tokens = NULL;
  const sluice_string* text = NULL;
  must(sluice_tokenizer_create(model, &tokenizer));
  must(sluice_tokenizer_encode(tokenizer, prompt, strlen(prompt), 0, &tokens));
  for (size_t i = 0; i < tokens->num_ids; ++i) printf("%" PRId64 " ", tokens->ids[i]);
  print("");
  must(sluice_tokenizer_decode(tokenizer, tokens->ids, tokens->num_ids, 0, &text));
  print_string(text);
  must(sluice_tokenizer_piece(tokenizer, tokens->ids[0], &text));
  print(text->data);
  printf("%" PRId64 "\n==\n", sluice_tokenizer_find(tokenizer, text->data));
  sluice_release(text);
  must(sluice_tokenizer_apply_chat_template(tokenizer, chat, &text));
  print_string(text);
  sluice_tokenizer_free(tokenizer);
  return tokens;
}

/* Texts of the three kinds of prompts. */
static void write_prompts(sluice_generator* generator, char** argv, const sluice_tokens* tokens) {
  const char* stops[] = {"no such text", NULL};
  sluice_generate_request request = empty_request();
  stops[1] = argv[4];
  request.prompt = argv[2];
  request.prompt_bytes = strlen(argv[2]);
  request.max_tokens = 20;
  request.given = SLUICE_GIVEN_MAX_TOKENS;
  write_text(generator, &request);
  print_end(generator);
  request.prompt = NULL;
  request.ids = tokens->ids;
  request.num_ids = tokens->num_ids;
  request.stops = stops;
  request.num_stops = 2;
  write_text(generator, &request);
  print_end(generator);
  request = empty_request();
  request.chat = argv[3];
  request.max_tokens = 8;
  request.given = SLUICE_GIVEN_MAX_TOKENS;
  write_text(generator, &request);
  print_end(generator);
}

/* A long prompt is two runs at least; the second question ends it, and the text begins anew. */
static void stop_long_prompt(sluice_generator* generator, const sluice_tokens* tokens) {
  static int64_t prompt[kLongPrompt + 512];
  sluice_generate_request request = empty_request();
  size_t length = 0;
  int asked = 0;
  while (length < kLongPrompt) {
    memcpy(prompt + length, tokens->ids, tokens->num_ids * sizeof(int64_t));
    length += tokens->num_ids;
  }
  request.ids = prompt;
  request.num_ids = length;
  request.is_stopped = is_second;
  request.user_data = &asked;
  write_text(generator, &request);
  print_end(generator);
  request.is_stopped = NULL;
  request.max_tokens = 5;
  request.given = SLUICE_GIVEN_MAX_TOKENS;
  write_text(generator, &request);
}

/* The first token and the likeliest two. */
static void show_logprobs(sluice_generator* generator, const sluice_tokens* tokens) {
  sluice_generate_request request = empty_request();
  const sluice_piece* piece = NULL;
  request.ids = tokens->ids;
  request.num_ids = tokens->num_ids;
  request.top_logprobs = 2;
  request.given = SLUICE_GIVEN_TOP_LOGPROBS;
  must(sluice_generator_start(generator, &request));
  must(sluice_generator_next(generator, &piece));
  printf("%d %.2f", (int)piece->has_logprobs, (double)piece->logprob);
  for (size_t i = 0; i < piece->num_top; ++i) {
    printf(" %" PRId64 " %.2f", piece->top[i].token, (double)piece->top[i].logprob);
  }
  print("");
}

static void show_errors(sluice_generator* generator, const char* prompt,
                        const sluice_tokens* tokens) {
  sluice_generate_request request = empty_request();
  request.prompt = prompt;
  request.prompt_bytes = strlen(prompt);
  request.max_tokens = 100000;
  request.given = SLUICE_GIVEN_MAX_TOKENS;
  write_text(generator, &request);
  request.given = 0;
  request.ids = tokens->ids;
  request.num_ids = tokens->num_ids;
  write_text(generator, &request);
  request.ids = NULL;
  request.temperature = -1;
  request.given = SLUICE_GIVEN_TEMPERATURE;
  write_text(generator, &request);
}

/* A text that its grammar, or its schema, leaves no choice; and both of them. */
static void show_grammars(sluice_generator* generator, const sluice_tokens* tokens) {
  sluice_generate_request request = empty_request();
  request.ids = tokens->ids;
  request.num_ids = tokens->num_ids;
  request.grammar = "root ::= \"only \" [x]";
  write_text(generator, &request);
  request.schema = "{\"const\": [1, \"a\"]}";
  write_text(generator, &request);
  request.grammar = NULL;
  write_text(generator, &request);
}

/* Penalties, a bias and a word that must not come. */
static void steer_text(sluice_generator* generator, const char* word, const sluice_tokens* tokens) {
  const char* words[] = {NULL};
  sluice_logit_bias bias = {0};
  sluice_generate_request request = empty_request();
  words[0] = word;
  bias.token = tokens->ids[0];
  bias.bias = 3;
  request.ids = tokens->ids;
  request.num_ids = tokens->num_ids;
  request.max_tokens = 20;
  request.presence_penalty = 1.5F;
  request.frequency_penalty = 0.5F;
  request.given =
      SLUICE_GIVEN_MAX_TOKENS | SLUICE_GIVEN_PRESENCE_PENALTY | SLUICE_GIVEN_FREQUENCY_PENALTY;
  request.logit_bias = &bias;
  request.num_logit_bias = 1;
  request.bad_words = words;
  request.num_bad_words = 1;
  write_text(generator, &request);
}

int main(int argc, char** argv) {
  sluice_open_options options = {0};
  sluice_model* model = NULL;
  sluice_generator* generator = NULL;
  const sluice_tokens* tokens = NULL;
  if (argc != 5) return 2;
  options.struct_size = sizeof(options);
  options.num_threads = 1;
  must(sluice_model_open(argv[1], &options, &model));
  must(sluice_generator_create(model, &generator));
  tokens = show_tokenizer(model, argv[2], argv[3]);
  sluice_model_close(model); /* the generator keeps what it needs */
  write_prompts(generator, argv, tokens);
  stop_long_prompt(generator, tokens);
  show_logprobs(generator, tokens);
  show_grammars(generator, tokens);
  steer_text(generator, argv[4], tokens);
  show_errors(generator, argv[2], tokens);
  sluice_release(tokens);
  sluice_generator_free(generator);
  return 0;
}
