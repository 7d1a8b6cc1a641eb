// softmax(Q K^T / sqrt(d_k)) V for every sentence and head, forward and backward, over short sequences.
//
// A job is one head of one sentence: its queries (64 at a time), keys and values are brought into float32 and
// stay in the first or second cache from the scores to the gradients. Queries, keys and values come as
// they lie in memory, with strides; only the last axis must be contiguous.
#pragma once
#include "attention_scores.h"
#include "products.h"

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

// Bring (n, d) into float32, with zeros up to (rows, padded(d)).
template <class T>
INLINE void bring(const T* from, int64_t stride, int64_t n, int64_t d, int64_t rows, float* to) {
    const int64_t D = padded(d);
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < d; i += W) store(to + r * D + i, load(from + r * stride + i, d - i));
    for (int64_t i = n * D; i < rows * D; i++) to[i] = 0;
}

// Rows times factors: one each, or with a step of 0 the same for all.
template <class T>
INLINE void send(const float* from, int64_t n, int64_t d, const float* factors, int64_t step, T* to, int64_t stride) {
    const int64_t D = padded(d);
    const bool past = lined_up(to, (stride | d) * sizeof(T));
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < d; i += W)
            hand_on(to + r * stride + i, load(from + r * D + i) * factors[r * step], d - i, past);
}

// stats (B, H, 2, Q): the queries' highest scores and the inverses of their sums of powers.
template <class T>
static void attention(Heads<const T> q, Heads<const T> k, Heads<const T> v, Mask mask, Heads<T> out, float* stats,
                      const Shape& s, const Dropout& dropout, int threads) {
    const int64_t D_k = padded(s.d_k), D_v = padded(s.d_v), N = QUERIES;
    const float scale = 1.0f / sqrtf((float)s.d_k);
#pragma omp parallel num_threads(threads)
    {
        float* queries = scratch(s.K * (D_k + D_v + 2 * N) + N * (2 * D_k + D_v));
        float *turned = queries + N * D_k, *heads = turned + N * D_k, *keys = heads + N * D_v;
        float *values = keys + s.K * D_k, *scores = values + s.K * D_v;
        Shown shown{(int32_t*)scores + s.K * N};
#pragma omp for schedule(dynamic, 64)
        for (int64_t job = 0; job < s.B * s.H; job++) {
            bring(k.of(job, s.H), k.n, s.K, s.d_k, s.K, keys);
            bring(v.of(job, s.H), v.n, s.K, s.d_v, s.K, values);
            expect(k, job, s, s.K, s.d_k), expect(v, job, s, s.K, s.d_v), expect(q, job, s, s.Q, s.d_k);
            for (int64_t first = 0; first < s.Q; first += N) {
                const int64_t n = s.Q - first < N ? s.Q - first : N, wide = padded(n);
                bring(q.of(job, s.H) + first * q.n, q.n, n, s.d_k, wide, queries);
                transpose(queries, wide, D_k, turned);
                product(s.K, wide, s.d_k, keys, D_k, 1, turned, wide, scores, wide, false);
                float* own = stats + job * 2 * s.Q;
                weigh<T>(scores, scale, mask, shown, own, dropout, s, job, first, n);
                product(n, D_v, s.K, scores, 1, wide, values, D_v, heads, D_v, false);
                send(heads, n, s.d_v, own + s.Q + first, 1, out.of(job, s.H) + first * out.n, out.n);
            }
        }
        free(queries);
    }
}

// With P the weights, M the dropout mask / keep, O the output: dV = (P M)^T dO, dP = dO V^T M,
// dS = P (dP - rowsum(P dP)), dQ = dS K scale, dK = dS^T Q scale. P is computed again from Q and K.
template <class T>
static void attention_backward(Heads<const T> gradient, Heads<const T> q, Heads<const T> k, Heads<const T> v, Mask mask,
                               const float* stats, Heads<T> dq, Heads<T> dk, Heads<T> dv, const Shape& s,
                               const Dropout& dropout, int threads) {
    const int64_t D_k = padded(s.d_k), D_v = padded(s.d_v), N = QUERIES;
    const float scale = 1.0f / sqrtf((float)s.d_k), one = 1;
#pragma omp parallel num_threads(threads)
    {
        float* keys = scratch(s.K * (2 * D_k + 2 * D_v + 4 * N) + N * (3 * D_k + 2 * D_v));
        float *values = keys + s.K * D_k, *dkeys = values + s.K * D_v, *dvalues = dkeys + s.K * D_k;
        float *queries = dvalues + s.K * D_v, *turned = queries + N * D_k, *dqueries = turned + N * D_k;
        float *douts = dqueries + N * D_k, *turned_douts = douts + N * D_v, *weights = turned_douts + N * D_v;
        float *dscores = weights + s.K * N, *kept = dropout.dropped ? dscores + s.K * N : weights;  // P M
        Shown shown{(int32_t*)dscores + 2 * s.K * N};
#pragma omp for schedule(dynamic, 64)
        for (int64_t job = 0; job < s.B * s.H; job++) {
            bring(k.of(job, s.H), k.n, s.K, s.d_k, s.K, keys);
            bring(v.of(job, s.H), v.n, s.K, s.d_v, s.K, values);
            expect(k, job, s, s.K, s.d_k), expect(v, job, s, s.K, s.d_v);
            expect(q, job, s, s.Q, s.d_k), expect(gradient, job, s, s.Q, s.d_v);
            for (int64_t first = 0; first < s.Q; first += N) {
                const int64_t n = s.Q - first < N ? s.Q - first : N, wide = padded(n);
                bring(q.of(job, s.H) + first * q.n, q.n, n, s.d_k, wide, queries);
                bring(gradient.of(job, s.H) + first * gradient.n, gradient.n, n, s.d_v, wide, douts);
                transpose(queries, wide, D_k, turned), transpose(douts, wide, D_v, turned_douts);
                product(s.K, wide, s.d_k, keys, D_k, 1, turned, wide, weights, wide, false);
                product(s.K, wide, s.d_v, values, D_v, 1, turned_douts, wide, dscores, wide, false);
                weigh_backward<T>(weights, kept, dscores, scale, mask, shown, stats + job * 2 * s.Q, dropout, s, job,
                                  first, n);
                product(s.K, D_v, n, kept, wide, 1, douts, D_v, dvalues, D_v, first > 0);
                product(s.K, D_k, n, dscores, wide, 1, queries, D_k, dkeys, D_k, first > 0);
                product(n, D_k, s.K, dscores, 1, wide, keys, D_k, dqueries, D_k, false);
                send(dqueries, n, s.d_k, &scale, 0, dq.of(job, s.H) + first * dq.n, dq.n);
            }
            send(dkeys, s.K, s.d_k, &scale, 0, dk.of(job, s.H), dk.n);
            send(dvalues, s.K, s.d_v, &one, 0, dv.of(job, s.H), dv.n);
        }
        free(keys);
    }
}
