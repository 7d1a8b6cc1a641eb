// softmax(Q K^T / sqrt(d_k)) V for every sentence and head, forward and backward, over short sequences.
//
// A job is one head of one sentence. Its queries (64 at a time), keys and values are converted to float32 and stay in
// the L1 or L2 cache from the scores to the gradients. Inputs may have any strides, except that the last axis must be
// contiguous.
#pragma once
#include "products.h"
#include "tile_attention.h"

// Transpose (rows, columns), both padded to W.
static void transpose(const float* from, int64_t rows, int64_t columns, float* to) {
    for (int64_t r = 0; r < rows; r += W)
        for (int64_t c = 0; c < columns; c += W) {
            vf square[W];
            for (int i = 0; i < W; i++) square[i] = load(from + (r + i) * columns + c);
            turn_square(square);
            for (int i = 0; i < W; i++) store(to + (c + i) * rows + r, square[i]);
        }
}

// Convert (n, d) to float32, zero-padded to (rows, padded(d)).
template <class T>
INLINE void bring(const T* from, int64_t stride, int64_t n, int64_t d, int64_t rows, float* to) {
    const int64_t D = padded(d);
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < d; i += W) store(to + r * D + i, load(from + r * stride + i, d - i));
    for (int64_t i = n * D; i < rows * D; i++) to[i] = 0;
}

// Multiply rows by factors, one per row, or one for all with a step of 0; convert and store them.
template <class T>
INLINE void send(const float* from, int64_t n, int64_t d, const float* factors, int64_t step, T* to, int64_t stride) {
    const int64_t D = padded(d);
    const bool past = lined_up(to, (stride | d) * sizeof(T));
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < d; i += W)
            hand_on(to + r * stride + i, load(from + r * D + i) * factors[r * step], d - i, past);
}

// stats (B, H, 2, Q): each query's maximum score and the inverse of its sum of exponentials.
template <class T>
static void attention(const Attention<T>& a, const Heads<T>& out, float* stats, int threads) {
#ifdef __AMX_TILE__
    if constexpr (sizeof(T) == 2)
        if (tiled(a.s)) return tile_attention(a, out, stats, threads);
#endif
    const Heads<const T>&q = a.q, &k = a.k, &v = a.v;
    const Shape& s = a.s;
    const int64_t D_k = padded(s.d_k), D_v = padded(s.d_v), N = QUERIES;
#pragma omp parallel num_threads(threads)
    {
        Scratch own(s.K * (D_k + D_v + 2 * N) + N * (2 * D_k + D_v));
        float *queries = own.of(N * D_k), *turned = own.of(N * D_k), *heads = own.of(N * D_v);
        float *keys = own.of(s.K * D_k), *values = own.of(s.K * D_v), *scores = own.of(s.K * N);
        Weights<T> weights(a, own);
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
                float* of_job = stats + job * 2 * s.Q;
                weights.weigh(scores, of_job, job, first, n);
                product(n, D_v, s.K, scores, 1, wide, values, D_v, heads, D_v, false);
                send(heads, n, s.d_v, of_job + s.Q + first, 1, out.of(job, s.H) + first * out.n, out.n);
            }
        }
    }
}

// With P the weights, M the dropout mask / keep, O the output: dV = (P M)^T dO, dP = dO V^T M,
// dS = P (dP - rowsum(P dP)), dQ = dS K scale, dK = dS^T Q scale. P is recomputed from Q and K.
template <class T>
static void attention_backward(const Attention<T>& a, const Heads<const T>& gradient, const float* stats,
                               const Gradients<T>& d, int threads) {
#ifdef __AMX_TILE__
    if constexpr (sizeof(T) == 2)
        if (tiled(a.s)) return tile_attention_backward(a, gradient, stats, d, threads);
#endif
    const Heads<const T>&q = a.q, &k = a.k, &v = a.v;
    const Shape& s = a.s;
    const int64_t D_k = padded(s.d_k), D_v = padded(s.d_v), N = QUERIES;
    const float scale = 1.0f / sqrtf((float)s.d_k), one = 1;
#pragma omp parallel num_threads(threads)
    {
        Scratch own(s.K * (2 * D_k + 2 * D_v + 4 * N) + N * (3 * D_k + 2 * D_v));
        float *keys = own.of(s.K * D_k), *values = own.of(s.K * D_v), *queries = own.of(N * D_k);
        float *dkeys = own.of(s.K * D_k), *dvalues = own.of(s.K * D_v), *dqueries = own.of(N * D_k);
        float *turned = own.of(N * D_k), *douts = own.of(N * D_v), *turned_douts = own.of(N * D_v);
        float *scores = own.of(s.K * N), *dscores = own.of(s.K * N);
        float* kept = a.dropped ? own.of(s.K * N) : scores;  // P M
        Weights<T> weights(a, own);
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
                product(s.K, wide, s.d_k, keys, D_k, 1, turned, wide, scores, wide, false);
                product(s.K, wide, s.d_v, values, D_v, 1, turned_douts, wide, dscores, wide, false);
                weights.weigh_backward(scores, kept, dscores, stats + job * 2 * s.Q, job, first, n);
                product(s.K, D_v, n, kept, wide, 1, douts, D_v, dvalues, D_v, first > 0);
                product(s.K, D_k, n, dscores, wide, 1, queries, D_k, dkeys, D_k, first > 0);
                product(n, D_k, s.K, dscores, 1, wide, keys, D_k, dqueries, D_k, false);
                send(dqueries, n, s.d_k, &scale, 0, d.q.of(job, s.H) + first * d.q.n, d.q.n);
            }
            send(dkeys, s.K, s.d_k, &scale, 0, d.k.of(job, s.H), d.k.n);
            send(dvalues, s.K, s.d_v, &one, 0, d.v.of(job, s.H), d.v.n);
        }
    }
}
