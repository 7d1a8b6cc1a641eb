// The kernels under their C names, e.g. attention_avx2: compiled once for each level of processor, and chosen
// when the library is loaded (src/multihead/nn/kernels/native.py).
#include "attention.h"
#include "cross_entropy.h"
#include "disagreement.h"
#include "distribution.h"
#include "elementwise.h"
#include "residual.h"
#include "search_layers.h"

#define JOINED(name, level) name##_##level
#define WITH_LEVEL(name, level) JOINED(name, level)
#define EXPORT(name) extern "C" __attribute__((visibility("default"))) void WITH_LEVEL(name, LEVEL)

typedef const int64_t* Ints;

// Run the call with T = bf16 or float.
#define TYPED(is_bf16, call)      \
    do {                          \
        if (is_bf16) {            \
            using T = bf16;       \
            call;                 \
        } else {                  \
            using T = float;      \
            call;                 \
        }                         \
    } while (0)

// Run the call with F = the format of matrices: 0 float32, 1 bf16, 2 bytes.
#define FORMATTED(format, call)   \
    do {                          \
        if (format == 2) {        \
            using F = Int8;       \
            call;                 \
        } else if (format == 1) { \
            using F = Bf16;       \
            call;                 \
        } else {                  \
            using F = Fp32;       \
            call;                 \
        }                         \
    } while (0)

EXPORT(dropout)(int is_bf16, const void* x, void* out, int64_t R, int64_t C, int64_t seed, int64_t dropped,
                int threads) {
    TYPED(is_bf16, dropout((const T*)x, (T*)out, R, C, seed, dropped, threads));
}

EXPORT(relu)(int is_bf16, const void* x, void* out, int64_t n, int threads) {
    TYPED(is_bf16, relu((const T*)x, (T*)out, n, threads));
}

EXPORT(relu_backward)(int is_bf16, const void* gradient, const void* out, void* dx, int64_t n, int threads) {
    TYPED(is_bf16, relu_backward((const T*)gradient, (const T*)out, (T*)dx, n, threads));
}

EXPORT(residual)(int is_bf16, const void* x, const void* y, const float* gamma, const float* beta, void* z,
                 void* out, float* mean, float* rstd, int64_t R, int64_t d, double epsilon, int64_t seed,
                 int64_t dropped, int threads) {
    TYPED(is_bf16, residual((const T*)x, (const T*)y, gamma, beta, (T*)z, (T*)out, mean, rstd, R, d, epsilon,
                            seed, dropped, threads));
}

EXPORT(residual_backward)(int is_bf16, const void* gradient, const void* z, const float* gamma,
                          const float* mean, const float* rstd, void* dx, void* dy, float* dgamma, float* dbeta,
                          int64_t R, int64_t d, int64_t seed, int64_t dropped, int threads) {
    float* parts = scratch(2 * padded(d) * threads);
    TYPED(is_bf16, residual_backward((const T*)gradient, (const T*)z, gamma, mean, rstd, (T*)dx, (T*)dy, dgamma,
                                     dbeta, parts, R, d, seed, dropped, threads));
    free(parts);
}

EXPORT(cross_entropy)(int is_bf16, void* logits, const int64_t* targets, double* sums, int64_t N, int64_t V,
                      double smoothing, int wanted, int threads) {
    double* parts = (double*)scratch(6 * threads);
    TYPED(is_bf16, cross_entropy((T*)logits, targets, sums, parts, N, V, smoothing, wanted, threads));
    free(parts);
}

EXPORT(disagreement)(int is_bf16, const void* logits, void* gradient, double* sums, int64_t pairs, int64_t V,
                     int threads) {
    double* parts = (double*)scratch(2 * threads);
    TYPED(is_bf16, disagreement((const T*)logits, (T*)gradient, sums, parts, pairs, V, threads));
    free(parts);
}

static Heads heads(Ints n) { return {n[0], n[1], n[2]}; }
static Mask masked(const void* allowed, Ints n) { return {(const uint8_t*)allowed, n[0], n[1], n[2], n[3]}; }
static Shape shape(Ints n) { return {n[0], n[1], n[2], n[3], n[4], n[5]}; }

EXPORT(attention)(int is_bf16, const void* q, Ints q_, const void* k, Ints k_, const void* v, Ints v_,
                  const void* allowed, Ints allowed_, void* out, Ints out_, float* stats, Ints sizes,
                  int64_t seed, int64_t dropped, int threads) {
    TYPED(is_bf16, attention((const T*)q, heads(q_), (const T*)k, heads(k_), (const T*)v, heads(v_),
                             masked(allowed, allowed_), (T*)out, heads(out_), stats, shape(sizes), seed, dropped,
                             threads));
}

EXPORT(attention_backward)(int is_bf16, const void* gradient, Ints gradient_, const void* q, Ints q_,
                           const void* k, Ints k_, const void* v, Ints v_, const void* allowed, Ints allowed_,
                           const float* stats, void* dq, Ints dq_, void* dk, Ints dk_, void* dv, Ints dv_,
                           Ints sizes, int64_t seed, int64_t dropped, int threads) {
    TYPED(is_bf16, attention_backward((const T*)gradient, heads(gradient_), (const T*)q, heads(q_), (const T*)k,
                                      heads(k_), (const T*)v, heads(v_), masked(allowed, allowed_), stats,
                                      (T*)dq, heads(dq_), (T*)dk, heads(dk_), (T*)dv, heads(dv_), shape(sizes),
                                      seed, dropped, threads));
}

EXPORT(log_normaliser)(int, const float* logits, float* out, int64_t R, int64_t V, int threads) {
    log_normaliser(logits, out, R, V, threads);
}

EXPORT(top)(int, const float* logits, float* values, int64_t* columns, int64_t R, int64_t V, int64_t k,
            int threads) {
    top(logits, values, columns, R, V, k, threads);
}

static Linear linear_of(Ints n) { return {(const uint32_t*)n[0], (const float*)n[1], n[2], n[3]}; }

EXPORT(linear)(int format, const float* x, Ints weight, float* out, int64_t M, int threads) {
    FORMATTED(format, linear_shared<F>(M, x, linear_of(weight), out, threads));
}

template <class T>
static Cached<T> cached(Ints n) {
    return {(T*)n[0], (T*)n[1], n[2], n[3]};
}
static LayerShape layer_shape(Ints n) { return {n[0], n[1], n[2], n[3], n[4], n[5], n[6]}; }

// Norms as addresses of gamma and beta, and whether they stand before the sublayers.
static Norms norms(Ints n, int count, double epsilon) {
    Norms norms;
    for (int i = 0; i < count; i++) norms.of[i] = {(const float*)n[2 * i], (const float*)n[2 * i + 1]};
    norms.epsilon = (float)epsilon, norms.before = n[2 * count];
    return norms;
}

// A layer is its matrices, each as address, address of the bias, inputs, outputs, and then its norms.
EXPORT(encoder_layer)(int format, float* x, Ints n, double epsilon, Ints sizes, const int64_t* lengths,
                      int threads) {
    const EncoderLayer layer{linear_of(n), linear_of(n + 4), linear_of(n + 8), linear_of(n + 12),
                             norms(n + 16, 2, epsilon)};
    FORMATTED(format, encoder_layer<F>(x, layer, layer_shape(sizes), lengths, threads));
}

EXPORT(source_keys)(int format, const float* x, Ints kv, Ints sizes, Ints to, int threads) {
    FORMATTED(format, source_keys<F>(x, linear_of(kv), layer_shape(sizes), cached<F::Element>(to), threads));
}

// A step of all layers of a stack, each with its own keys and values and the source's.
EXPORT(decoder_stack)(int format, float* x, int64_t layers, Ints n, double epsilon, Ints sizes, Ints caches,
                      const float* bias, const int64_t* lengths, int threads) {
    for (int64_t l = 0; l < layers; l++, n += 31, caches += 8) {
        const DecoderLayer layer{linear_of(n),      linear_of(n + 4),  linear_of(n + 8),         linear_of(n + 12),
                                 linear_of(n + 16), linear_of(n + 20), norms(n + 24, 3, epsilon)};
        FORMATTED(format, decoder_step<F>(x, layer, layer_shape(sizes), cached<F::Element>(caches),
                                          cached<F::Element>(caches + 4), bias, lengths, threads));
    }
}
