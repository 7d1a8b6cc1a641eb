// softmax(Q K^T / sqrt(d_k)) V for every sentence and head, forward and backward, over short sequences.
//
// A job is one head of one sentence: its queries (64 at a time), keys and values are brought into float32 and
// stay in the first or second cache from the scores to the gradients. Queries, keys and values come as they lie
// in memory, with strides; only the last axis must be contiguous.
#pragma once
#include "products.h"

struct Heads {  // a tensor (B, H, N, d) by its strides, in elements
    int64_t b, h, n;
};
struct Mask {  // bytes, not 0 = may attend; no pointer: everything
    const uint8_t* allowed;
    int64_t b, h, q, k;
};
struct Shape {
    int64_t B, H, Q, K, d_k, d_v;
};

constexpr int64_t QUERIES = 64;  // queries at a time

// --- parts of a job ----------------------------------------------------------------------------------

// (rows, columns), both padded to W, to (columns, rows): tiles of W x W, whose rows are interleaved log2 W
// times.
static void transpose(const float* from, int64_t rows, int64_t columns, float* to) {
    for (int64_t r = 0; r < rows; r += W)
        for (int64_t c = 0; c < columns; c += W) {
            vf one[W], other[W];
            for (int i = 0; i < W; i++) one[i] = load(from + (r + i) * columns + c);
            for (int n = 1; n < W; n *= 2) {
                for (int i = 0; i < W / 2; i++) {
                    other[2 * i] = SHUFFLE(one[i], one[i + W / 2], FIRST_HALVES);
                    other[2 * i + 1] = SHUFFLE(one[i], one[i + W / 2], SECOND_HALVES);
                }
                for (int i = 0; i < W; i++) one[i] = other[i];
            }
            for (int i = 0; i < W; i++) store(to + (c + i) * rows + r, one[i]);
        }
}

// Bring (n, d) into float32, scaled, with zeros up to (rows, padded(d)).
template <class T>
INLINE void bring(const T* from, int64_t stride, int64_t n, int64_t d, float scale, int64_t rows, float* to) {
    const int64_t D = padded(d);
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < d; i += W) store(to + r * D + i, load(from + r * stride + i, d - i) * scale);
    for (int64_t i = n * D; i < rows * D; i++) to[i] = 0;
}

// Ask for the rows of the next job, which come while this one is computed.
template <class T>
INLINE void expect(const T* x, Heads x_, int64_t job, const Shape& s, int64_t n, int64_t d) {
    if (++job == s.B * s.H) return;
    const T* from = x + job / s.H * x_.b + job % s.H * x_.h;
    for (int64_t r = 0; r < n && r < QUERIES; r++)
        for (int64_t i = 0; i < d; i += 64 / sizeof(T)) __builtin_prefetch(from + r * x_.n + i);
}

template <class T>
INLINE void send(const float* from, int64_t n, int64_t d, float scale, T* to, int64_t stride) {
    const int64_t D = padded(d);
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < d; i += W) store(to + r * stride + i, load(from + r * D + i) * scale, d - i);
}

// Which of W keys from k on may be attended to.
INLINE vi allowed_keys(const Mask& mask, int64_t offset, int64_t k, int64_t K) {
    if (mask.k == 1) return __builtin_convertvector(load(mask.allowed + offset + k, K - k), vi) != 0;
    vi which{};
    for (int64_t i = 0; i < W && k + i < K; i++) which[i] = mask.allowed[offset + (k + i) * mask.k] ? -1 : 0;
    return which;
}

constexpr float HIDDEN = -3.40282347e38f;

// The smallest finite number where attention is not allowed: a row without any allowed key is uniform, not
// NaN. Columns behind K get -inf, that is weight 0.
INLINE void hide(const Mask& mask, int64_t offset, int64_t K, float* scores) {
    for (int64_t k = 0; k < K; k += W) {
        vf v = load(scores + k);
        if (mask.allowed) v = select(allowed_keys(mask, offset, k, K), v, splat(HIDDEN));
        if (K - k < W) v = select(lanes() < (int32_t)(K - k), v, splat(-INFINITY));
        store(scores + k, v);
    }
}

// --- forward -----------------------------------------------------------------------------------------

// stats (B, H, Q, 2): each row's highest score and the inverse of its sum of powers.
template <class T>
static void attention(const T* q, Heads q_, const T* k, Heads k_, const T* v, Heads v_, Mask mask, T* out,
                      Heads out_, float* stats, const Shape& s, int64_t seed, int64_t dropped, int threads) {
    const int64_t D_k = padded(s.d_k), D_v = padded(s.d_v), K = padded(s.K);
    const float scale = 1.0f / sqrtf((float)s.d_k);
    const Dropout drop = dropout_of(seed, dropped);
#pragma omp parallel num_threads(threads)
    {
        float* queries = scratch(2 * K * D_k + K * D_v + QUERIES * (D_k + D_v + K) + DROP);
        float *keys = queries + QUERIES * D_k, *turned = keys + K * D_k, *values = turned + K * D_k;
        float *scores = values + K * D_v, *heads = scores + QUERIES * K + DROP;
#pragma omp for schedule(static)
        for (int64_t job = 0; job < s.B * s.H; job++) {
            const int64_t b = job / s.H, h = job % s.H;
            bring(k + b * k_.b + h * k_.h, k_.n, s.K, s.d_k, 1.0f, K, keys);
            transpose(keys, K, D_k, turned);
            bring(v + b * v_.b + h * v_.h, v_.n, s.K, s.d_v, 1.0f, s.K, values);
            expect(k, k_, job, s, s.K, s.d_k), expect(v, v_, job, s, s.K, s.d_v), expect(q, q_, job, s, s.Q, s.d_k);
            for (int64_t first = 0; first < s.Q; first += QUERIES) {
                const int64_t n = s.Q - first < QUERIES ? s.Q - first : QUERIES;
                bring(q + b * q_.b + h * q_.h + first * q_.n, q_.n, n, s.d_k, scale, n, queries);
                product(n, K, s.d_k, queries, D_k, 1, turned, K, scores, K, false);
                for (int64_t r = 0; r < n; r++) {
                    float* row = scores + r * K;
                    const int64_t place = job * s.Q + first + r;
                    hide(mask, b * mask.b + h * mask.h + (first + r) * mask.q, s.K, row);
                    vf most = load(row), mass{};
                    for (int64_t i = W; i < K; i += W) most = maximum(most, load(row + i));
                    const float highest = largest(most);
                    for (int64_t i = 0; i < K; i += W) {
                        vf e = exponential(load(row + i) - highest);
                        store(row + i, e);
                        mass += e;
                    }
                    const float inverse = 1.0f / sum(mass);
                    for (int64_t i = 0; i < K; i += W) store(row + i, load(row + i) * inverse);
                    stats[2 * place] = highest, stats[2 * place + 1] = inverse;
                    if (dropped) drop_row(drop, place, row, s.K);
                }
                product(n, D_v, s.K, scores, K, 1, values, D_v, heads, D_v, false);
                send(heads, n, s.d_v, 1.0f, out + b * out_.b + h * out_.h + first * out_.n, out_.n);
            }
        }
        free(queries);
    }
}

// --- backward ----------------------------------------------------------------------------------------

// With P the weights, M the dropout mask / keep, O the output: dV = (P M)^T dO, dP = dO V^T M,
// dS = P (dP - rowsum(P dP)), dQ = dS K scale, dK = dS^T Q scale. P is computed again from Q and K.
template <class T>
static void attention_backward(const T* gradient, Heads g_, const T* q, Heads q_, const T* k, Heads k_,
                               const T* v, Heads v_, Mask mask, const float* stats, T* dq, Heads dq_, T* dk,
                               Heads dk_, T* dv, Heads dv_, const Shape& s, int64_t seed, int64_t dropped,
                               int threads) {
    const int64_t D_k = padded(s.d_k), D_v = padded(s.d_v), K = padded(s.K);
    const float scale = 1.0f / sqrtf((float)s.d_k);
    const Dropout drop = dropout_of(seed, dropped);
#pragma omp parallel num_threads(threads)
    {
        const int64_t per_key = 3 * D_k + 3 * D_v, per_query = 2 * D_k + D_v + 3 * K;
        float* keys = scratch(K * per_key + QUERIES * per_query + DROP);
        float *turned = keys + K * D_k, *dkeys = turned + K * D_k, *values = dkeys + K * D_k;
        float *turned_values = values + K * D_v, *dvalues = turned_values + K * D_v;
        float *queries = dvalues + K * D_v, *dqueries = queries + QUERIES * D_k, *douts = dqueries + QUERIES * D_k;
        float *weights = douts + QUERIES * D_v, *dscores = weights + QUERIES * K;
        float* kept = dropped ? dscores + QUERIES * K : weights;  // P M
#pragma omp for schedule(static)
        for (int64_t job = 0; job < s.B * s.H; job++) {
            const int64_t b = job / s.H, h = job % s.H;
            bring(k + b * k_.b + h * k_.h, k_.n, s.K, s.d_k, 1.0f, K, keys);
            transpose(keys, K, D_k, turned);
            bring(v + b * v_.b + h * v_.h, v_.n, s.K, s.d_v, 1.0f, K, values);
            transpose(values, K, D_v, turned_values);
            expect(k, k_, job, s, s.K, s.d_k), expect(v, v_, job, s, s.K, s.d_v);
            expect(q, q_, job, s, s.Q, s.d_k), expect(gradient, g_, job, s, s.Q, s.d_v);
            for (int64_t first = 0; first < s.Q; first += QUERIES) {
                const int64_t n = s.Q - first < QUERIES ? s.Q - first : QUERIES;
                bring(q + b * q_.b + h * q_.h + first * q_.n, q_.n, n, s.d_k, scale, n, queries);
                bring(gradient + b * g_.b + h * g_.h + first * g_.n, g_.n, n, s.d_v, 1.0f, n, douts);
                product(n, K, s.d_k, queries, D_k, 1, turned, K, weights, K, false);
                product(n, K, s.d_v, douts, D_v, 1, turned_values, K, dscores, K, false);
                for (int64_t r = 0; r < n; r++) {
                    float *p = weights + r * K, *m = kept + r * K, *ds = dscores + r * K;
                    const int64_t place = job * s.Q + first + r;
                    const int64_t offset = b * mask.b + h * mask.h + (first + r) * mask.q;
                    const float highest = stats[2 * place], inverse = stats[2 * place + 1];
                    hide(mask, offset, s.K, p);
                    for (int64_t i = 0; i < K; i += W) {
                        vf w = exponential(load(p + i) - highest) * inverse;
                        store(p + i, w);
                        store(m + i, w);
                    }
                    if (dropped) drop_row(drop, place, m, s.K), drop_row(drop, place, ds, s.K);
                    vf total{};
                    for (int64_t i = 0; i < K; i += W) total += load(p + i) * load(ds + i);
                    const float mean = sum(total);
                    // A row without any allowed key has weights, though nothing depends on its scores.
                    const float some = mask.allowed && highest == HIDDEN ? 0.0f : 1.0f;
                    for (int64_t i = 0; i < K; i += W) store(ds + i, load(p + i) * (load(ds + i) - mean) * some);
                }
                product(s.K, D_v, n, kept, 1, K, douts, D_v, dvalues, D_v, first > 0);
                product(s.K, D_k, n, dscores, 1, K, queries, D_k, dkeys, D_k, first > 0);
                product(n, D_k, s.K, dscores, K, 1, keys, D_k, dqueries, D_k, false);
                send(dqueries, n, s.d_k, scale, dq + b * dq_.b + h * dq_.h + first * dq_.n, dq_.n);
            }
            send(dkeys, s.K, s.d_k, 1.0f, dk + b * dk_.b + h * dk_.h, dk_.n);
            send(dvalues, s.K, s.d_v, 1.0f, dv + b * dv_.b + h * dv_.h, dv_.n);
        }
        free(keys);
    }
}
