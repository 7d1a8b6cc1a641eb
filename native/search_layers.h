// A Transformer's layers for search (Vaswani et al. 2017, figure 1): an encoder layer for whole sentences, and a
// decoder layer's step for one position of each of N sentences' K hypotheses.
//
// A thread computes the whole layer for a block of sentences, so that activations stay in its cache. Keys are stored as
// (d_k, room), so that a query's scores with W keys fill one register.
#pragma once
#include "products.h"
#include "residual.h"

struct LayerShape {
    int64_t N, K, H, d, d_k, d_v, d_ff;  // K positions of each of N sentences
};

INLINE int64_t padded16(int64_t n) { return (n + 15) / 16 * 16; }

// Number of sentences of K positions per block.
INLINE int64_t together(int64_t K) { return larger(1, BLOCK / larger(1, K)); }

INLINE void layer_norm(int64_t M, const float* x, int64_t d, const Norm& norm, float* out) {
    for (int64_t m = 0; m < M; m++) {
        vf total{};
        for (int64_t i = 0; i < d; i += W) total += load(x + m * d + i, d - i);
        normed(x + m * d, sum(total), d, norm, out + m * d);
    }
}

// The residual stream of a block of rows: adds a sublayer's output to x, and normalises by pre- or post-norm.
struct Stream {
    float *x, *y;
    int64_t M, d, before;  // before: pre-norm, else post-norm
    const Norm* norms;

    // A sublayer's input.
    const float* read(int which) const {
        if (!before) return x;
        layer_norm(M, x, d, norms[which], y);
        return y;
    }
    // Add the sublayer's output, y, to x.
    void add(int which) const {
        for (int64_t i = 0; i < M * d; i += W) store(x + i, load(x + i, M * d - i) + load(y + i), M * d - i);
        if (!before) layer_norm(M, x, d, norms[which], x);
    }
};

// A thread's memory for a block of rows.
template <class Format>
struct Memory {
    static constexpr int64_t SLACK = 16;  // numbers that may be read or written past the end
    Scratch own;
    float *y, *inner, *heads, *work;
    typename Format::Input* rows;

    Memory(int64_t M, const LayerShape& s, int64_t wide, int64_t worked)
        : Memory(worked, M * s.d + SLACK, M * larger(wide, s.d_ff) + SLACK, M * s.H * s.d_v,
                 M * Format::inputs(larger(larger(s.d, s.d_ff), s.H * s.d_v)) + SLACK) {}
    Memory(int64_t worked, int64_t ys, int64_t inners, int64_t values, int64_t inputs)
        : own(worked + ys + inners + values + inputs), y(own.of(ys)), inner(own.of(inners)), heads(own.of(values)),
          work(own.of(worked)), rows(own.of<typename Format::Input>(inputs)) {}
};

template <class Format>
INLINE void feed_forward(const Stream& stream, int which, const Linear& first, const Linear& second,
                         const Memory<Format>& memory) {
    Linear inner = first;
    inner.relu = true;
    linear<Format>(stream.M, stream.read(which), stream.d, inner, memory.inner, first.out, memory.rows);
    linear<Format>(stream.M, memory.inner, first.out, second, stream.y, stream.d, memory.rows);
    stream.add(which);
}

#ifdef RECORDS_ATTENTION
// Where the next weights go (page.cpp), row by row; null: they are not recorded.
static float* attention_record = nullptr;
constexpr bool WINDOWS = false;  // a page has no models with windows, and its engine is small
#else
constexpr bool WINDOWS = true;
#endif

// softmax(Q K^T + bias) V of one head, K queries over n slots. The strides are `room` for keys and values_m for values,
// of which padded16(d_v) may be read. `work` holds K (padded(n) + padded16(d_v) + 1).
template <class T>
INLINE void look(int64_t K, const float* q, int64_t q_m, const T* keys, int64_t room, const T* values,
                 int64_t values_m, int64_t n, int64_t d_k, int64_t d_v, const float* bias, int64_t bias_m,
                 float* work, float* out, int64_t out_m) {
    const int64_t P = padded(n), D = padded16(d_v);
    float *mixed = work + K * P, *masses = mixed + K * D;
    product(K, P, d_k, q, q_m, 1, keys, room, work, P, false);
    for (int64_t k = 0; k < K; k++) {
        float* row = work + k * P;
        vf most = splat(-INFINITY), mass{};
        for (int64_t i = 0; i < P; i += W) {
            vf v = load(row + i);
            if (bias) v += load(bias + k * bias_m + i, n - i);
            if (n - i < W) v = select(lanes() < (int32_t)(n - i), v, splat(-INFINITY));
            store(row + i, v);
            most = maximum(most, v);
        }
        const float highest = largest(most);
        for (int64_t i = 0; i < P; i += W) {
            const vf e = exponential(load(row + i) - highest);
            store(row + i, e);
            mass += e;
        }
        masses[k] = sum(mass);
    }
    product(K, D, n, work, P, 1, values, values_m, mixed, D, false);
    for (int64_t k = 0; k < K; k++) {
        const float inverse = 1.0f / masses[k];
#ifdef RECORDS_ATTENTION
        for (int64_t i = 0; attention_record && i < n; i++) *attention_record++ = work[k * P + i] * inverse;
#endif
        for (int64_t i = 0; i < d_v; i += W) store(out + k * out_m + i, load(mixed + k * D + i) * inverse, d_v - i);
    }
}

// --- the encoder -------------------------------------------------------------------------------------

// reach: positions on either side that a position sees (Vaswani et al. 2017, sec. 4, "restricted"); negative: all.
struct EncoderLayer {
    Linear qkv, out, first, second;  // the scale of the scores is folded into W^Q
    int64_t before, reach;
    Norm norms[2];
};

constexpr int64_t NEIGHBOURS = 32;  // queries at a time that share the keys of their windows

// Floats of work for self-attention over K positions: scores, mixed values, masses, and the bias of a window.
INLINE int64_t attention_work(const LayerShape& s, int64_t reach) {
    const int64_t D = padded16(s.d_v), P = padded16(s.K);
    if (reach < 0) return s.K * (P + D + 1);
    const int64_t all = padded16(NEIGHBOURS + 2 * reach) + 16;
    return NEIGHBOURS * (2 * (P < all ? P : all) + D + 1);
}

// Attention of a head's K queries over the keys of their windows; arguments as of `look`, for n real keys.
INLINE void look_around(int64_t K, int64_t reach, const float* q, int64_t q_m, const float* keys, int64_t room,
                        const float* values, int64_t values_m, int64_t n, int64_t d_k, int64_t d_v, float* work,
                        float* out, int64_t out_m) {
    for (int64_t first = 0; first < K; first += NEIGHBOURS) {
        const int64_t last = first + NEIGHBOURS < K ? first + NEIGHBOURS : K, rows = last - first;
        const int64_t begin = larger(0, first - reach) / 16 * 16, end = last + reach < n ? last + reach : n;
        const int64_t seen = end - begin;
        for (int64_t k = first; k < last && seen <= 0; k++) memset(out + k * out_m, 0, d_v * sizeof(float));
        if (seen <= 0) continue;  // padding far from the sentence
        float* bias = work;
        for (int64_t k = first; k < last; k++)
            for (int64_t i = begin; i < end; i++) {
                const int64_t apart = i < k ? k - i : i - k;
                // Padding may find no key in its window; nothing reads what it finds elsewhere.
                bias[(k - first) * seen + i - begin] = apart <= reach || k >= n ? 0.0f : -INFINITY;
            }
        look(rows, q + first * q_m, q_m, keys + begin, room, values + begin * values_m, values_m, seen, d_k, d_v, bias,
             seen, work + rows * seen, out + first * out_m, out_m);
    }
}

// The first sublayer of sentences begin to end: each attends to its own first lengths[n] positions. `turned` holds
// padded16(K) d_k zeros or finite numbers, `work` attention_work(s, layer.reach).
template <class Format>
INLINE void attend_within(const Stream& stream, const EncoderLayer& layer, const LayerShape& s, const int64_t* lengths,
                          int64_t begin, int64_t end, const Memory<Format>& memory, float* turned, float* work) {
    const int64_t K = s.K, keys = s.H * s.d_k, values = s.H * s.d_v, wide = 2 * keys + values, P = padded16(K);
    linear<Format>(stream.M, stream.read(0), s.d, layer.qkv, memory.inner, wide, memory.rows);
    for (int64_t n = begin; n < end; n++) {
        const float* qkv = memory.inner + (n - begin) * K * wide;
        for (int64_t h = 0; h < s.H; h++) {
            const float* own = qkv + keys + h * s.d_k;
            for (int64_t k = 0; k < lengths[n]; k++)
                for (int64_t j = 0; j < s.d_k; j++) turned[j * P + k] = own[k * wide + j];
            const float *query = qkv + h * s.d_k, *value = qkv + 2 * keys + h * s.d_v;
            float* out = memory.heads + (n - begin) * K * values + h * s.d_v;
            if (!WINDOWS || layer.reach < 0)
                look(K, query, wide, turned, P, value, wide, lengths[n], s.d_k, s.d_v, nullptr, 0, work, out, values);
            else
                look_around(K, layer.reach, query, wide, turned, P, value, wide, lengths[n], s.d_k, s.d_v, work, out,
                            values);
        }
    }
    linear<Format>(stream.M, memory.heads, values, layer.out, memory.y, s.d, memory.rows);
    stream.add(0);
}

// Overwrites x (N, K, d) by the layer's output; sentence n attends to its first lengths[n] positions.
template <class Format>
static void encode_cells(float* x, const EncoderLayer& layer, const LayerShape& s, const int64_t* lengths,
                          int threads) {
    const int64_t K = s.K, wide = s.H * (2 * s.d_k + s.d_v), P = padded16(K), block = together(K);
#pragma omp parallel num_threads(threads)
    {
        const Memory<Format> memory(block * K, s, wide, P * s.d_k + attention_work(s, layer.reach));
        float *turned = memory.work, *work = turned + P * s.d_k;
        memset(turned, 0, P * s.d_k * sizeof(float));  // stale memory may hold subnormal numbers, which are slow
#pragma omp for schedule(dynamic)
        for (int64_t begin = 0; begin < s.N; begin += block) {
            const int64_t end = begin + block < s.N ? begin + block : s.N, M = (end - begin) * K;
            const Stream stream{x + begin * K * s.d, memory.y, M, s.d, layer.before, layer.norms};
            attend_within(stream, layer, s, lengths, begin, end, memory, turned, work);
            feed_forward(stream, 1, layer.first, layer.second, memory);
        }
    }
}

// --- the decoder -------------------------------------------------------------------------------------

// recurrent: the first sublayer is an SSRU (src/multihead/nn/parts/ssru.py) in the place of self-attention. Then qkv is W and
// W_f side by side, and self_out is not used.
struct DecoderLayer {
    Linear qkv, self_out, query, source_out, first, second;
    int64_t before, recurrent;
    Norm norms[3];
};

// Keys (layers, sentences, H, d_k, room) and values (layers, sentences, H, room, d_v), d_v padded to 16. A slot is a
// position that a hypothesis wrote, or a position of the source.
template <class T>
struct Cached {
    T *keys, *values;
    int64_t room;       // capacity in slots, a multiple of 16
    int64_t slots;      // slots in use
    int64_t sentences;  // capacity in sentences; the first N are in use

    Cached from(int64_t head, const LayerShape& s) const {
        return {keys + head * s.d_k * room, values + head * room * padded16(s.d_v), room, slots, sentences};
    }
    Cached of_layer(int64_t layer, const LayerShape& s) const { return from(layer * sentences * s.H, s); }

    // A head of one of N sentences. Prefetches the next head's keys and values, which do not stay in the cache from
    // step to step.
    Cached of_head(int64_t n, int64_t h, const LayerShape& s) const {
        const int64_t head = n * s.H + h, line = 64 / sizeof(T);
        const Cached next = from(head + 1, s);
        for (int64_t i = 0; head + 1 < s.N * s.H && i < s.d_k * room; i += line) __builtin_prefetch(next.keys + i);
        for (int64_t i = 0; head + 1 < s.N * s.H && i < slots * padded16(s.d_v); i += line)
            __builtin_prefetch(next.values + i);
        return from(head, s);
    }
    // Store a key as a column and a value as a row. The first of 16 columns clears the others, which are multiplied
    // too: stale memory may hold subnormal numbers, which are slow.
    void put(const float* key, const float* value, const LayerShape& s, int64_t slot) const {
        const int64_t D = padded16(s.d_v);
        for (int64_t j = 0; j < s.d_k; j += W) {
            T part[W];
            store(part, load(key + j, s.d_k - j));
            for (int64_t i = 0; i < W && j + i < s.d_k; i++) {
                T* to = keys + (j + i) * room + slot;
                if (slot % 16 == 0) memset(to, 0, 16 * sizeof(T));
                *to = part[i];
            }
        }
        for (int64_t j = 0; j < D; j += W) store(values + slot * D + j, load(value + j, s.d_v - j));
    }
};

// A head's part of c_t = f_t c_(t-1) + (1 - f_t) u_t, f_t = sigmoid(g_t), and ReLU(c_t). `own` holds states as values,
// of d_v = d_k numbers, and what bf16 rounds off them as keys: a state sums over many steps. `parent` is the slot of
// c_(t-1), -1 for zero. `low` has room for padded16(d_v) numbers.
template <class T>
INLINE void recur(const Cached<T>& own, int64_t parent, int64_t slot, const float* u, const float* g,
                  const LayerShape& s, float* low, float* out) {
    const int64_t D = padded16(s.d_v);
    for (int64_t j = 0; j < s.d_v; j += W) {
        vf state{};
        if (parent >= 0) {
            T part[W] = {};
            for (int64_t i = 0; i < W && j + i < s.d_v; i++) part[i] = own.keys[(j + i) * own.room + parent];
            state = load(own.values + parent * D + j) + load(part);
        }
        const vf gate = load(g + j, s.d_v - j), one = splat(1.0f);
        const vf small = exponential(-maximum(gate, -gate)), share = one / (one + small);
        const vf forget = select(gate < splat(0.0f), small * share, share);
        state = forget * state + (one - forget) * load(u + j, s.d_v - j);
        T rounded[W];
        store(rounded, state);
        store(low + j, state - load(rounded));
        store(out + j, state, s.d_v - j);
    }
    own.put(low, out, s, slot);
    for (int64_t j = 0; j < s.d_v; j += W) store(out + j, maximum(load(out + j, s.d_v - j), vf{}), s.d_v - j);
}

// Compute the source's keys and values, kv = x W + b with x (N, K, d), and store them in the cache.
template <class Format>
static void keep_source(const float* x, int64_t layer, const Linear& kv, const LayerShape& s,
                        const Cached<typename Format::Element>& cached, int threads) {
    const Cached<typename Format::Element> to = cached.of_layer(layer, s);
    const int64_t K = s.K, keys = s.H * s.d_k, wide = keys + s.H * s.d_v, block = together(K);
#pragma omp parallel num_threads(threads)
    {
        const Memory<Format> memory(block * K, s, wide, 0);
#pragma omp for schedule(static)
        for (int64_t begin = 0; begin < s.N; begin += block) {
            const int64_t end = begin + block < s.N ? begin + block : s.N;
            linear<Format>((end - begin) * K, x + begin * K * s.d, s.d, kv, memory.inner, wide, memory.rows);
            for (int64_t n = begin; n < end; n++)
                for (int64_t h = 0; h < s.H; h++)
                    for (int64_t k = 0; k < K; k++) {
                        const float* row = memory.inner + ((n - begin) * K + k) * wide;
                        to.from(n * s.H + h, s).put(row + h * s.d_k, row + keys + h * s.d_v, s, k);
                    }
        }
    }
}

// Overwrites x (N, K, d) by the layer's output. `bias` (N, K, bias_m) is 0 where a hypothesis sees a slot, else -inf;
// null: all are seen. `lengths` (N) are the sources' lengths.
template <class Format>
static void decoder_step(float* x, const DecoderLayer& layer, const LayerShape& s,
                         const Cached<typename Format::Element>& self,
                         const Cached<typename Format::Element>& source, const float* bias, int64_t bias_m,
                         const int64_t* lengths, int threads) {
    using T = typename Format::Element;
    const int64_t K = s.K, keys = s.H * s.d_k, values = s.H * s.d_v, wide = 2 * keys + values, D = padded16(s.d_v);
    const int64_t fair = larger(1, (s.N + threads - 1) / threads), fitting = together(K);
    const int64_t block = fair < fitting ? fair : fitting, most = larger(self.slots, source.slots);
#pragma omp parallel num_threads(threads)
    {
        const Memory<Format> memory(block * K, s, wide, K * (padded(most) + D + 1));
#pragma omp for schedule(static)
        for (int64_t begin = 0; begin < s.N; begin += block) {
            const int64_t end = begin + block < s.N ? begin + block : s.N, M = (end - begin) * K;
            const Stream stream{x + begin * K * s.d, memory.y, M, s.d, layer.before, layer.norms};
            const auto heads = [&](int64_t n, int64_t h) {
                return memory.heads + (n - begin) * K * values + h * s.d_v;
            };

            if (layer.recurrent) {
                linear<Format>(M, stream.read(0), s.d, layer.qkv, memory.inner, 2 * s.d, memory.rows);
                for (int64_t row = begin * K; row < end * K; row++) {
                    const float* seen = bias ? bias + row * bias_m : nullptr;
                    int64_t parent = self.slots - K - 1;
                    while (parent >= 0 && seen && seen[parent] != 0.0f) parent--;
                    const float* u = memory.inner + (row - begin * K) * 2 * s.d;
                    float* out = memory.y + (row - begin * K) * s.d;
                    for (int64_t h = 0; h < s.H; h++)
                        recur(self.from(row / K * s.H + h, s), parent, self.slots - K + row % K, u + h * s.d_v,
                              u + s.d + h * s.d_v, s, memory.work, out + h * s.d_v);
                }
                stream.add(0);
            } else {
                linear<Format>(M, stream.read(0), s.d, layer.qkv, memory.inner, wide, memory.rows);
                for (int64_t n = begin; n < end; n++) {
                    const float* qkv = memory.inner + (n - begin) * K * wide;
                    for (int64_t h = 0; h < s.H; h++) {
                        const Cached<T> own = self.of_head(n, h, s);
                        const float *key = qkv + keys + h * s.d_k, *value = qkv + 2 * keys + h * s.d_v;
                        for (int64_t k = 0; k < K; k++)
                            own.put(key + k * wide, value + k * wide, s, self.slots - K + k);
                        look(K, qkv + h * s.d_k, wide, own.keys, own.room, own.values, D, own.slots, s.d_k, s.d_v,
                             bias ? bias + n * K * bias_m : nullptr, bias_m, memory.work, heads(n, h), values);
                    }
                }
                linear<Format>(M, memory.heads, values, layer.self_out, memory.y, s.d, memory.rows);
                stream.add(0);
            }

            linear<Format>(M, stream.read(1), s.d, layer.query, memory.inner, keys, memory.rows);
            for (int64_t n = begin; n < end; n++)
                for (int64_t h = 0; h < s.H; h++) {
                    const Cached<T> read = source.of_head(n, h, s);
                    look(K, memory.inner + (n - begin) * K * keys + h * s.d_k, keys, read.keys, read.room, read.values,
                         D, lengths[n], s.d_k, s.d_v, nullptr, 0, memory.work, heads(n, h), values);
                }
            linear<Format>(M, memory.heads, values, layer.source_out, memory.y, s.d, memory.rows);
            stream.add(1);

            feed_forward(stream, 2, layer.first, layer.second, memory);
        }
    }
}

// In each layer of a cache, copy the sentences `fillers` over the sentences `holes`; `bytes` per sentence.
static void refill(char* cache, int64_t layers, int64_t sentences, int64_t bytes, const int64_t* holes,
                   const int64_t* fillers, int64_t count, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < layers * count; i++) {
        char* layer = cache + i / count * sentences * bytes;
        memcpy(layer + holes[i % count] * bytes, layer + fillers[i % count] * bytes, bytes);
    }
}

// A stack of decoder layers, its final norm, if any, and the output layer.
struct Decoder {
    const DecoderLayer* layers;
    int64_t count;
    Norm norm;
    Linear output;
};

// Apply all layers and the norm to x (N, K, d), and, unless null, compute the next token's logits (N K, V).
template <class Format>
static void decode_cells(float* x, const Decoder& decoder, const LayerShape& s,
                         const Cached<typename Format::Element>& self, const Cached<typename Format::Element>& source,
                         const float* bias, int64_t bias_m, const int64_t* lengths, float* logits, int threads) {
    for (int64_t l = 0; l < decoder.count; l++)
        decoder_step<Format>(x, decoder.layers[l], s, self.of_layer(l, s), source.of_layer(l, s), bias, bias_m,
                             lengths, threads);
    const int64_t normed = decoder.norm.gamma ? s.N * s.K : 0;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t m = 0; m < normed; m++)
        layer_norm(1, x + m * s.d, s.d, decoder.norm, x + m * s.d);
    if (logits) linear_shared<Format>(x, decoder.output, logits, s.N * s.K, threads);
}
