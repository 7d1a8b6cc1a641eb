// The kernels under their C names, e.g. attention_avx2: compiled once for each level of processor, and chosen
// when the library is loaded (src/multihead/native.py).
#include "additive.h"
#include "attention.h"
#include "beam.h"
#include "byte_gradient.h"
#include "distribution.h"
#include "elementwise.h"
#include "lookup.h"
#include "residual.h"
#include "sampled.h"
#include "search_layers.h"
#include "tile_attention.h"
#include "weight_gradient.h"

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

EXPORT(lookup)(int is_bf16, const float* weight, const int64_t* ids, void* out, int64_t N, int64_t d, double scale,
               int threads) {
    TYPED(is_bf16, lookup(weight, ids, (T*)out, N, d, (float)scale, threads));
}

EXPORT(lookup_backward)(int is_bf16, const void* gradient, const int64_t* ids, float* dweight, int64_t N, int64_t V,
                        int64_t d, double scale, int threads) {
    TYPED(is_bf16, lookup_backward((const T*)gradient, ids, dweight, N, V, d, (float)scale, threads));
}

EXPORT(byte_weight)(int, const float* w, int64_t w_o, int64_t w_i, int64_t out, int64_t in, uint32_t* packed,
                    int threads) {
    byte_weight(w, w_o, w_i, out, in, packed, threads);
}

EXPORT(byte_linear)(int is_bf16, const void* x, int64_t x_n, int64_t N, const uint32_t* weight, const float* bias,
                    int64_t in, int64_t outputs, int64_t relu, uint32_t* rows, void* out, int64_t past,
                    int threads) {
    const Linear w{weight, bias, in, outputs, relu != 0};
    TYPED(is_bf16, byte_linear((const T*)x, x_n, N, w, rows, (T*)out, past != 0, threads));
}

EXPORT(byte_weight_gradient)(int is_bf16, const void* g, int64_t g_n, const uint32_t* rows, int64_t N, int64_t e,
                             int64_t d, int64_t seed, float* out, float* sums, int threads) {
    TYPED(is_bf16, byte_weight_gradient((const T*)g, g_n, rows, N, e, d, seed, out, sums, threads));
}

#ifdef __AMX_TILE__
EXPORT(weight_gradient)(int, const bf16* g, int64_t g_n, const bf16* x, int64_t x_n, int64_t N, int64_t e, int64_t d,
                        float* out, float* sums, int threads) {
    weight_gradient(g, g_n, x, x_n, N, e, d, out, sums, threads);
}
#endif

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

EXPORT(sampled_cross_entropy)(int is_bf16, void* logits, const int64_t* targets, double* sums, const void* h,
                              const void* w, void* dh, float* dw, int64_t N, int64_t V, int64_t d, double smoothing,
                              double grain, int64_t seed, int threads) {
    double* parts = (double*)scratch(6 * threads);
    TYPED(is_bf16, sampled_cross_entropy((T*)logits, targets, sums, parts, (const T*)h, (const T*)w, (T*)dh, dw, N, V,
                                         d, smoothing, grain, seed, threads));
    free(parts);
}

template <class T>
static Heads<T> heads(void* x, Ints n) {
    return {(T*)x, n[0], n[1], n[2]};
}
template <class T>
static Heads<const T> heads(const void* x, Ints n) {
    return {(const T*)x, n[0], n[1], n[2]};
}
static Mask masked(const void* allowed, Ints n) { return {(const uint8_t*)allowed, n[0], n[1], n[2], n[3]}; }
static Shape shape(Ints n) { return {n[0], n[1], n[2], n[3], n[4], n[5]}; }

EXPORT(attention)(int is_bf16, const void* q, Ints q_, const void* k, Ints k_, const void* v, Ints v_,
                  const void* allowed, Ints allowed_, void* out, Ints out_, float* stats, Ints sizes,
                  int64_t seed, int64_t dropped, int threads) {
#ifdef __AMX_TILE__
    if (is_bf16 && tiled(shape(sizes)))
        return tile_attention(heads<bf16>(q, q_), heads<bf16>(k, k_), heads<bf16>(v, v_), masked(allowed, allowed_),
                              heads<bf16>(out, out_), stats, shape(sizes), dropout_of(seed, dropped), threads);
#endif
    TYPED(is_bf16, attention(heads<T>(q, q_), heads<T>(k, k_), heads<T>(v, v_), masked(allowed, allowed_),
                             heads<T>(out, out_), stats, shape(sizes), dropout_of(seed, dropped), threads));
}

EXPORT(attention_backward)(int is_bf16, const void* gradient, Ints gradient_, const void* q, Ints q_,
                           const void* k, Ints k_, const void* v, Ints v_, const void* allowed, Ints allowed_,
                           const float* stats, void* dq, Ints dq_, void* dk, Ints dk_, void* dv, Ints dv_,
                           Ints sizes, int64_t seed, int64_t dropped, int threads) {
#ifdef __AMX_TILE__
    if (is_bf16 && tiled(shape(sizes)))
        return tile_attention_backward(heads<bf16>(gradient, gradient_), heads<bf16>(q, q_), heads<bf16>(k, k_),
                                       heads<bf16>(v, v_), masked(allowed, allowed_), stats, heads<bf16>(dq, dq_),
                                       heads<bf16>(dk, dk_), heads<bf16>(dv, dv_), shape(sizes),
                                       dropout_of(seed, dropped), threads);
#endif
    TYPED(is_bf16, attention_backward(heads<T>(gradient, gradient_), heads<T>(q, q_), heads<T>(k, k_), heads<T>(v, v_),
                                      masked(allowed, allowed_), stats, heads<T>(dq, dq_), heads<T>(dk, dk_),
                                      heads<T>(dv, dv_), shape(sizes), dropout_of(seed, dropped), threads));
}

static Additive additive_of(const float* q, const float* k, const float* v, Ints n) {
    return {q, k, v, n[0], n[1], n[2], n[3]};
}

EXPORT(additive)(int, const float* q, const float* k, const float* v, float* scores, Ints sizes, int threads) {
    additive(additive_of(q, k, v, sizes), scores, threads);
}

EXPORT(additive_backward)(int, const float* gradient, const float* q, const float* k, const float* v, float* dq,
                          float* dk, float* dv, Ints sizes, int threads) {
    float* parts = scratch(padded(sizes[3]) * threads);
    additive_backward(additive_of(q, k, v, sizes), gradient, dq, dk, dv, parts, threads);
    free(parts);
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
    return {(T*)n[0], (T*)n[1], n[2], n[3], n[4]};
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

EXPORT(keep_source)(int format, const float* x, int64_t layer, Ints kv, Ints sizes, Ints to, int threads) {
    const LayerShape s = layer_shape(sizes);
    FORMATTED(format, source_keys<F>(x, linear_of(kv), s, cached<F::Element>(to).of_layer(layer, s), threads));
}

// In each layer of a cache, sentences of so many bytes take the places of others.
EXPORT(refill)(int, char* cache, int64_t layers, int64_t sentences, int64_t bytes, Ints holes, Ints fillers,
               int64_t count, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < layers * count; i++) {
        char* layer = cache + i / count * sentences * bytes;
        memcpy(layer + holes[i % count] * bytes, layer + fillers[i % count] * bytes, bytes);
    }
}

// Layers, then the norm at the end, then the output layer.
struct DecoderOf : Decoder {
    DecoderOf(int64_t layers, Ints n, double epsilon) {
        DecoderLayer* made = (DecoderLayer*)malloc(layers * sizeof(DecoderLayer));
        for (int64_t l = 0; l < layers; l++, n += 31)
            made[l] = {linear_of(n),      linear_of(n + 4),  linear_of(n + 8),         linear_of(n + 12),
                       linear_of(n + 16), linear_of(n + 20), norms(n + 24, 3, epsilon)};
        static_cast<Decoder&>(*this) = {made, layers, {(const float*)n[0], (const float*)n[1]}, (float)epsilon,
                                        linear_of(n + 2)};
    }
    ~DecoderOf() { free((void*)this->layers); }
};

EXPORT(decode)(int format, float* x, int64_t layers, Ints n, double epsilon, Ints sizes, Ints self, Ints source,
               const float* bias, const int64_t* lengths, float* logits, int threads) {
    const DecoderOf decoder(layers, n, epsilon);
    const LayerShape s = layer_shape(sizes);
    FORMATTED(format, decode<F>(x, decoder, s, cached<F::Element>(self), cached<F::Element>(source), bias, self[3],
                                lengths, threads));
    if (logits) FORMATTED(format, linear_shared<F>(s.N * s.K, x, decoder.output, logits, threads));
}

template <class Format>
static void beam(const Decoder& decoder, LayerShape s, Ints self, Ints source, const int64_t* lengths,
                 const float* embedding, const float* positions, Ints n_screen, const Search& search,
                 const Hypotheses& live, int64_t step, int64_t most, int64_t* report, int threads) {
    using Caches = Cached<typename Format::Element>;
    const Caches read = cached<typename Format::Element>(source);
    Caches own = cached<typename Format::Element>(self);
    const auto read_on = [&](int64_t rows, int64_t at, int64_t slots) {
        for (int64_t r = 0; r < live.N * rows; r++) {
            const int64_t n = r / rows, k = r % rows;
            const float* token = embedding + live.tokens[(at * live.places + live.place[n]) * search.K + k] * s.d;
            for (int64_t i = 0; i < s.d; i++)
                live.x[r * s.d + i] = token[i] + (positions ? positions[at * s.d + i] : 0.0f);
        }
        s.K = rows, own.slots = slots;
        decode<Format>(live.x, decoder, s, own, read, at ? live.bias : nullptr, own.room, lengths, threads);
    };
    Screen<Format> screen{};
    if (n_screen) screen = {linear_of(n_screen), (typename Format::Element*)n_screen[4], (const float*)n_screen[5]};
    beam_steps(search, live, step, most, own.slots, own.room, decoder.output, screen, report, threads, read_on);
}

EXPORT(beam_search)(int format, int64_t layers, Ints n, double epsilon, Ints sizes, Ints self, Ints source,
             const int64_t* lengths, const float* embedding, const float* positions, Ints screen, Ints n_search,
             double alpha, const int64_t* banned, Ints n_live, int64_t step, int64_t most, int64_t* report, int threads) {
    const DecoderOf decoder(layers, n, epsilon);
    const LayerShape s = layer_shape(sizes);
    const Search search{n_search[0], n_search[1], n_search[2], decoder.output.out, n_search[3], banned, (float)alpha,
                        n_search[4] != 0};
    const Ints at = n_live;
    const Hypotheses live{s.N,             at[0],           (float*)at[1],   (float*)at[2],   (float*)at[3],
                          (int64_t*)at[4], (uint8_t*)at[5], (Ints)at[6],     (Ints)at[7],     (int64_t*)at[8],
                          (int64_t*)at[9], (int64_t*)at[10], (float*)at[11], (float*)at[12],  (float*)at[13],
                          (float*)at[14],  (float*)at[15],  (float*)at[16], (int64_t*)at[17]};
    FORMATTED(format, beam<F>(decoder, s, self, source, lengths, embedding, positions, screen, search, live, step,
                              most, report, threads));
}
