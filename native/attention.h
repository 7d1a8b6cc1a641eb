// softmax(Q K^T / sqrt(d_k)) V for every sentence and head, forward and backward, over short sequences.
//
// A job is one head of one sentence: its queries (64 at a time), keys and values are brought into float32 and
// stay in the first or second cache from the scores to the gradients. Scores lie key by key, W queries side by side,
// so that a softmax is W of them at once and nothing is added up across a register. Queries, keys and values come as
// they lie in memory, with strides; only the last axis must be contiguous.
#pragma once
#include "products.h"
#include "turned.h"

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

constexpr int64_t QUERIES = 64;  // queries at a time: as many as a block of dropout has numbers

// --- parts of a job ----------------------------------------------------------------------------------

// (rows, columns), both padded to W, to (columns, rows).
static void transpose(const float* from, int64_t rows, int64_t columns, float* to) {
    for (int64_t r = 0; r < rows; r += W)
        for (int64_t c = 0; c < columns; c += W) {
            vf square[W];
            for (int i = 0; i < W; i++) square[i] = load(from + (r + i) * columns + c);
            turn_square(square);
            for (int i = 0; i < W; i++) store(to + (c + i) * rows + r, square[i]);
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
    const bool past = lined_up(to, (stride | d) * sizeof(T));
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < d; i += W) hand_on(to + r * stride + i, load(from + r * D + i) * scale, d - i, past);
}

constexpr float HIDDEN = -3.40282347e38f;

// Which queries may attend to which keys: a thread's own copy, laid out like the scores. Heads, and often sentences,
// have the same.
struct Shown {
    int32_t* which;  // (K, QUERIES)
    const uint8_t* of = nullptr;
    int64_t first = -1;

    void bring(const Mask& mask, int64_t b, int64_t h, int64_t from, int64_t n, const Shape& s) {
        const uint8_t* allowed = mask.allowed + b * mask.b + h * mask.h;
        if (allowed == of && from == first) return;
        of = allowed, first = from;
        for (int64_t k = 0; k < s.K; k++)
            for (int64_t i = 0; i < n; i++) which[k * QUERIES + i] = allowed[(from + i) * mask.q + k * mask.k] ? -1 : 0;
    }
    // The smallest finite number where attention is not allowed: a query without any allowed key takes the same of
    // all, not NaN.
    vf hide(int64_t k, int64_t i, vf scores) const {
        vi may;
        __builtin_memcpy(&may, which + k * QUERIES + i, sizeof may);
        return select(may, scores, splat(HIDDEN));
    }
};

// The factors of dropout for one key of n queries, whose weights have a place of their own wherever they are computed.
INLINE void drop_key(const Dropout& of, const Shape& s, int64_t job, int64_t k, int64_t first, int64_t n, float* row) {
    float factors[DROP];
    drop_factors(of, (job * s.K + k) * drop_blocks(s.Q) + first / DROP, factors);
    for (int64_t i = 0; i < n; i += W) store(row + i, load(row + i) * load(factors + i));
}

// --- forward -----------------------------------------------------------------------------------------

// stats (B, H, 2, Q): the queries' highest scores and the inverses of their sums of powers.
template <class T>
static void attention(const T* q, Heads q_, const T* k, Heads k_, const T* v, Heads v_, Mask mask, T* out,
                      Heads out_, float* stats, const Shape& s, int64_t seed, int64_t dropped, int threads) {
    const int64_t D_k = padded(s.d_k), D_v = padded(s.d_v), N = QUERIES;
    const float scale = 1.0f / sqrtf((float)s.d_k);
    const Dropout dropout = dropout_of(seed, dropped);
#pragma omp parallel num_threads(threads)
    {
        float* queries = scratch(s.K * (D_k + D_v + 2 * N) + N * (2 * D_k + D_v));
        float *turned = queries + N * D_k, *heads = turned + N * D_k, *keys = heads + N * D_v;
        float *values = keys + s.K * D_k, *scores = values + s.K * D_v;
        Shown shown{(int32_t*)scores + s.K * N};
#pragma omp for schedule(static)
        for (int64_t job = 0; job < s.B * s.H; job++) {
            const int64_t b = job / s.H, h = job % s.H;
            bring(k + b * k_.b + h * k_.h, k_.n, s.K, s.d_k, 1.0f, s.K, keys);
            bring(v + b * v_.b + h * v_.h, v_.n, s.K, s.d_v, 1.0f, s.K, values);
            expect(k, k_, job, s, s.K, s.d_k), expect(v, v_, job, s, s.K, s.d_v), expect(q, q_, job, s, s.Q, s.d_k);
            for (int64_t first = 0; first < s.Q; first += N) {
                const int64_t n = s.Q - first < N ? s.Q - first : N, wide = padded(n);
                bring(q + b * q_.b + h * q_.h + first * q_.n, q_.n, n, s.d_k, scale, wide, queries);
                transpose(queries, wide, D_k, turned);
                product(s.K, wide, s.d_k, keys, D_k, 1, turned, wide, scores, N, false);
                if (mask.allowed) shown.bring(mask, b, h, first, n, s);
                float* highest = stats + job * 2 * s.Q + first;
                for (int64_t i = 0; i < wide; i += W) {
                    vf most = splat(-INFINITY), mass{};
                    for (int64_t row = 0; row < s.K; row++) {
                        vf x = load(scores + row * N + i);
                        if (mask.allowed) store(scores + row * N + i, x = shown.hide(row, i, x));
                        most = maximum(most, x);
                    }
                    for (int64_t row = 0; row < s.K; row++) {
                        const vf e = exponential(load(scores + row * N + i) - most);
                        store(scores + row * N + i, e);
                        mass += e;
                    }
                    const vf inverse = 1.0f / mass;
                    for (int64_t row = 0; row < s.K; row++)
                        store(scores + row * N + i, load(scores + row * N + i) * inverse);
                    store(highest + i, most, n - i), store(highest + s.Q + i, inverse, n - i);
                }
                for (int64_t row = 0; dropped && row < s.K; row++)
                    drop_key(dropout, s, job, row, first, wide, scores + row * N);
                product(n, D_v, s.K, scores, 1, N, values, D_v, heads, D_v, false);
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
    const int64_t D_k = padded(s.d_k), D_v = padded(s.d_v), N = QUERIES;
    const float scale = 1.0f / sqrtf((float)s.d_k);
    const Dropout dropout = dropout_of(seed, dropped);
#pragma omp parallel num_threads(threads)
    {
        float* keys = scratch(s.K * (2 * D_k + 2 * D_v + 4 * N) + N * (3 * D_k + 2 * D_v));
        float *values = keys + s.K * D_k, *dkeys = values + s.K * D_v, *dvalues = dkeys + s.K * D_k;
        float *queries = dvalues + s.K * D_v, *turned = queries + N * D_k, *dqueries = turned + N * D_k;
        float *douts = dqueries + N * D_k, *turned_douts = douts + N * D_v, *weights = turned_douts + N * D_v;
        float *dscores = weights + s.K * N, *kept = dropped ? dscores + s.K * N : weights;  // P M
        Shown shown{(int32_t*)dscores + 2 * s.K * N};
#pragma omp for schedule(static)
        for (int64_t job = 0; job < s.B * s.H; job++) {
            const int64_t b = job / s.H, h = job % s.H;
            bring(k + b * k_.b + h * k_.h, k_.n, s.K, s.d_k, 1.0f, s.K, keys);
            bring(v + b * v_.b + h * v_.h, v_.n, s.K, s.d_v, 1.0f, s.K, values);
            expect(k, k_, job, s, s.K, s.d_k), expect(v, v_, job, s, s.K, s.d_v);
            expect(q, q_, job, s, s.Q, s.d_k), expect(gradient, g_, job, s, s.Q, s.d_v);
            for (int64_t first = 0; first < s.Q; first += N) {
                const int64_t n = s.Q - first < N ? s.Q - first : N, wide = padded(n);
                bring(q + b * q_.b + h * q_.h + first * q_.n, q_.n, n, s.d_k, scale, wide, queries);
                bring(gradient + b * g_.b + h * g_.h + first * g_.n, g_.n, n, s.d_v, 1.0f, wide, douts);
                transpose(queries, wide, D_k, turned), transpose(douts, wide, D_v, turned_douts);
                product(s.K, wide, s.d_k, keys, D_k, 1, turned, wide, weights, N, false);
                product(s.K, wide, s.d_v, values, D_v, 1, turned_douts, wide, dscores, N, false);
                if (mask.allowed) shown.bring(mask, b, h, first, n, s);
                const float* stats_of = stats + job * 2 * s.Q + first;
                for (int64_t i = 0; i < wide; i += W) {
                    const vf highest = load(stats_of + i, n - i), inverse = load(stats_of + s.Q + i, n - i);
                    for (int64_t row = 0; row < s.K; row++) {
                        vf x = load(weights + row * N + i);
                        if (mask.allowed) x = shown.hide(row, i, x);
                        x = exponential(x - highest) * inverse;
                        store(weights + row * N + i, x), store(kept + row * N + i, x);
                    }
                }
                for (int64_t row = 0; dropped && row < s.K; row++) {
                    drop_key(dropout, s, job, row, first, wide, kept + row * N);
                    drop_key(dropout, s, job, row, first, wide, dscores + row * N);
                }
                for (int64_t i = 0; i < wide; i += W) {
                    vf mean{};
                    for (int64_t at = i; at < s.K * N; at += N) mean += load(weights + at) * load(dscores + at);
                    // A query without any allowed key has weights, though nothing depends on its scores.
                    const vf highest = load(stats_of + i, n - i);
                    const vf some = select((vi)(highest == splat(HIDDEN)) & (mask.allowed ? -1 : 0), vf{}, splat(1.0f));
                    for (int64_t at = i; at < s.K * N; at += N)
                        store(dscores + at, load(weights + at) * (load(dscores + at) - mean) * some);
                }
                product(s.K, D_v, n, kept, N, 1, douts, D_v, dvalues, D_v, first > 0);
                product(s.K, D_k, n, dscores, N, 1, queries, D_k, dkeys, D_k, first > 0);
                product(n, D_k, s.K, dscores, 1, N, keys, D_k, dqueries, D_k, false);
                send(dqueries, n, s.d_k, scale, dq + b * dq_.b + h * dq_.h + first * dq_.n, dq_.n);
            }
            send(dkeys, s.K, s.d_k, 1.0f, dk + b * dk_.b + h * dk_.h, dk_.n);
            send(dvalues, s.K, s.d_v, 1.0f, dv + b * dv_.b + h * dv_.h, dv_.n);
        }
        free(keys);
    }
}
