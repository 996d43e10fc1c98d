#ifndef SLUICE_GENERATE_H_
#define SLUICE_GENERATE_H_
#include "sluice/runtime.h"
typedef struct sluice_tokenizer sluice_tokenizer;
typedef struct sluice_tokens {
  size_t num_ids;
  const int64_t* ids;
} sluice_tokens;
typedef struct sluice_string {
  const char* data;
  size_t size_bytes;
} sluice_string;
SLUICE_API sluice_code sluice_tokenizer_create(const sluice_model* model,
                                               sluice_tokenizer** tokenizer);
SLUICE_API void sluice_tokenizer_free(sluice_tokenizer* tokenizer);
SLUICE_API size_t sluice_tokenizer_vocabulary_size(const sluice_tokenizer* tokenizer);
SLUICE_API int64_t sluice_tokenizer_find(const sluice_tokenizer* tokenizer, const char* piece);
SLUICE_API sluice_code sluice_tokenizer_piece(const sluice_tokenizer* tokenizer, int64_t id,
                                              const sluice_string** piece);
#define SLUICE_TOKENS_PLAIN 1
#define SLUICE_TOKENS_LITERAL 2
SLUICE_API sluice_code sluice_tokenizer_encode(const sluice_tokenizer* tokenizer, const char* text,
                                               size_t size_bytes, uint32_t flags,
                                               const sluice_tokens** tokens);
SLUICE_API sluice_code sluice_tokenizer_decode(const sluice_tokenizer* tokenizer,
                                               const int64_t* ids, size_t num_ids, uint32_t flags,
                                               const sluice_string** text);
SLUICE_API sluice_code sluice_tokenizer_apply_chat_template(const sluice_tokenizer* tokenizer,
                                                            const char* chat,
                                                            const sluice_string** text);
typedef struct sluice_generator sluice_generator;
#define SLUICE_GIVEN_TEMPERATURE 1
#define SLUICE_GIVEN_TOP_K 2
#define SLUICE_GIVEN_TOP_P 4
#define SLUICE_GIVEN_MIN_P 8
#define SLUICE_GIVEN_REPETITION_PENALTY 16
#define SLUICE_GIVEN_SEED 32
#define SLUICE_GIVEN_MAX_TOKENS 64
#define SLUICE_GIVEN_TOP_LOGPROBS 128
#define SLUICE_GIVEN_PRESENCE_PENALTY 256
#define SLUICE_GIVEN_FREQUENCY_PENALTY 512
typedef struct sluice_logit_bias {
  int64_t token;
  float bias;
  int32_t reserved;
} sluice_logit_bias;
typedef struct sluice_generate_request {
  uint32_t struct_size;
  uint32_t given;
  const char* prompt;
  size_t prompt_bytes;
  const int64_t* ids;
  size_t num_ids;
  const char* chat;
  int64_t max_tokens;
  float temperature;
  float top_p;
  float min_p;
  float repetition_penalty;
  int64_t top_k;
  uint64_t seed;
  const char* const* stops;
  size_t num_stops;
  const int64_t* stop_ids;
  size_t num_stop_ids;
  int32_t (*is_stopped)(void* user_data);
  void* user_data;
  int64_t top_logprobs;
  const char* schema;
  const char* grammar;
  float presence_penalty;
  float frequency_penalty;
  const sluice_logit_bias* logit_bias;
  size_t num_logit_bias;
  const char* const* bad_words;
  size_t num_bad_words;
  const char* adapter;
} sluice_generate_request;
typedef struct sluice_token_logprob {
  int64_t token;
  float logprob;
  int32_t reserved;
} sluice_token_logprob;
typedef struct sluice_piece {
  const char* text;
  size_t size_bytes;
  int64_t token;
  int32_t has_logprobs;
  float logprob;
  size_t num_top;
  const sluice_token_logprob* top;
} sluice_piece;
enum {
  SLUICE_FINISH_NONE = 0,
  SLUICE_FINISH_STOP = 1,
  SLUICE_FINISH_TOKENS = 2,
  SLUICE_FINISH_CONTEXT = 3,
  SLUICE_FINISH_CANCELLED = 4
};
SLUICE_API sluice_code sluice_generator_create(sluice_model* model, sluice_generator** generator);
SLUICE_API void sluice_generator_free(sluice_generator* generator);
SLUICE_API int64_t sluice_generator_context(const sluice_generator* generator);
SLUICE_API sluice_code sluice_generator_start(sluice_generator* generator,
                                              const sluice_generate_request* request);
SLUICE_API sluice_code sluice_generator_next(sluice_generator* generator,
                                             const sluice_piece** piece);
SLUICE_API int32_t sluice_generator_finish(const sluice_generator* generator);
SLUICE_API int64_t sluice_generator_num_prompt_tokens(const sluice_generator* generator);
SLUICE_API int64_t sluice_generator_num_tokens(const sluice_generator* generator);
typedef struct sluice_embedder sluice_embedder;
SLUICE_API sluice_code sluice_embedder_create(sluice_model* model, sluice_embedder** embedder);
SLUICE_API void sluice_embedder_free(sluice_embedder* embedder);
SLUICE_API int64_t sluice_embedder_width(const sluice_embedder* embedder);
SLUICE_API int64_t sluice_embedder_context(const sluice_embedder* embedder);
SLUICE_API sluice_code sluice_embedder_embed(sluice_embedder* embedder, const char* const* texts,
                                             size_t num_texts, float* vectors);
SLUICE_API sluice_code sluice_embedder_score(sluice_embedder* embedder, const char* query,
                                             const char* const* documents, size_t num_documents,
                                             float* scores);
#endif
