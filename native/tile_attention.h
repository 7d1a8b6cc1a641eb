// Attention over short sequences on matrix registers (Intel AMX): the equations of attention.h by bf16 products, summed
// in float32. Weights and gradients of scores are rounded to bf16 before products, as in PyTorch. d_k and d_v are
// multiples of 32.
#pragma once
#include "attention_scores.h"
#include "tile_layouts.h"

#ifdef __AMX_TILE__
// Copy (n, d), zero-padded to (padded(n), d).
INLINE void bring_whole(const bf16* from, int64_t stride, int64_t n, int64_t d, bf16* to) {
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < d; i += DEEP, to += DEEP) store_words(to, words(from + r * stride + i));
    memset(to, 0, (padded(n) - n) * d * sizeof(bf16));
}

// Transpose (n, d) into squares of 16 words by 16 rows; a word holds two numbers of a row.
INLINE void turn(const bf16* from, int64_t stride, int64_t n, int64_t d, bf16* to) {
    for (int64_t r = 0; r < n; r += W)
        for (int64_t c = 0; c < d; c += DEEP) {
            vf square[W];
            for (int i = 0; i < W; i++) square[i] = r + i < n ? words(from + (r + i) * stride + c) : vf{};
            turn_square(square);
            for (int i = 0; i < W; i++, to += DEEP) store_words(to, square[i]);
        }
}

// Interleave pairs of rows: (n, d) to (deep(n) / 2, d) words.
INLINE void pair_rows(const bf16* from, int64_t stride, int64_t n, int64_t d, bf16* to) {
    for (int64_t r = 0; r < n; r += 2, from += 2 * stride)
        for (int64_t c = 0; c < d; c += DEEP, to += 2 * DEEP) {
            vf first = words(from + c), second = r + 1 < n ? words(from + stride + c) : vf{};
            pair(first, second);
            store_words(to, first), store_words(to + DEEP, second);
        }
    memset(to, 0, (deep(n) - n) / 2 * 2 * d * sizeof(bf16));
}

// Multiply rows (n, d) by factors, one per row, or one for all with a step of 0; convert and store them.
INLINE void send_whole(const float* from, int64_t n, int64_t d, const float* factors, int64_t step, bf16* to,
                       int64_t stride) {
    const bool past = lined_up(to, stride * sizeof(bf16));
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < d; i += DEEP, from += DEEP) {
            const __m512i both = narrow(load(from) * factors[r * step], load(from + W) * factors[r * step]);
            bf16* line = to + r * stride + i;
            past ? _mm512_stream_si512((__m512i*)line, both) : _mm512_storeu_si512(line, both);
        }
}

// Convert weights, stored key by key (K, padded(n)), to rows of bf16 (K, deep(n)).
INLINE void rows_of(const float* weights, int64_t K, int64_t n, bf16* to) {
    const int64_t N = padded(n);
    for (int64_t k = 0; k < K; k++, weights += N)
        for (int64_t i = 0; i < N; i += DEEP, to += DEEP)
            store_words(to, (vf)narrow(load(weights + i), N - i > W ? load(weights + i + W) : vf{}));
}

// The same, transposed to query by query: (n, deep(K)).
INLINE void turned_rows_of(const float* weights, int64_t K, int64_t n, bf16* to) {
    const int64_t N = padded(n);
    const __m512i interleaved = (__m512i)(lanes() * 0x10001 + 0x100000);
    for (int64_t first = 0; first < n; first += W)
        for (int64_t k = 0; k < K; k += DEEP) {
            vf square[W];
            for (int64_t i = 0, at = k; i < W; i++, at += 2) {
                const float* row = weights + at * N + first;
                const vf even = at < K ? load(row) : vf{}, odd = at + 1 < K ? load(row + N) : vf{};
                square[i] = (vf)_mm512_permutexvar_epi16(interleaved, narrow(even, odd));
            }
            turn_square(square);
            for (int i = 0; i < W; i++) store_words(to + (first + i) * deep(K) + k, square[i]);
        }
}

// The right matrix of a product, with the offsets of the next 16 words (of depth) and of the next 16 columns.
struct Right {
    const bf16* x;
    int64_t stride, deeper, beside;
};
INLINE Right turned_right(const bf16* x, int64_t D) { return {x, DEEP, W * DEEP, W * D}; }
INLINE Right paired_right(const bf16* x, int64_t D) { return {x, 2 * D, W * 2 * D, DEEP}; }

// out (M, N) = [out +] a (M, depth) b by squares of 16, two side by side if possible.
INLINE void tile_product(int64_t M, int64_t N, int64_t depth, const bf16* a, int64_t a_m, Right b, float* out,
                         int64_t out_m, bool add) {
    constexpr int SUMS = 0, MORE_SUMS = 1, LEFT = 2, RIGHT = 3, MORE_RIGHT = 4;
    for (int64_t m = 0; m < M; m += W)
        for (int64_t n = 0; n < N; n += DEEP) {
            const bool two = n + W < N;
            float* to = out + m * out_m + n;
            add ? tile_load<SUMS>(to, 4 * out_m) : tile_zero<SUMS>();
            if (two) add ? tile_load<MORE_SUMS>(to + W, 4 * out_m) : tile_zero<MORE_SUMS>();
            for (int64_t k = 0; k < depth; k += DEEP) {
                const bf16* right = b.x + n / W * b.beside + k / DEEP * b.deeper;
                tile_load<LEFT>(a + m * a_m + k, 2 * a_m);
                tile_load<RIGHT>(right, 2 * b.stride), tile_dot_bf16<SUMS, LEFT, RIGHT>();
                if (two) tile_load<MORE_RIGHT>(right + b.beside, 2 * b.stride);
                if (two) tile_dot_bf16<MORE_SUMS, LEFT, MORE_RIGHT>();
            }
            tile_store<SUMS>(to, 4 * out_m);
            if (two) tile_store<MORE_SUMS>(to + W, 4 * out_m);
        }
}

INLINE bool tiled(const Shape& s) { return s.d_k % DEEP == 0 && s.d_v % DEEP == 0; }

static void tile_attention(const Attention<bf16>& a, const Heads<bf16>& out, float* stats, int threads) {
    const Heads<const bf16>&q = a.q, &k = a.k, &v = a.v;
    const Shape& s = a.s;
    const int64_t K = deep(s.K), D_k = s.d_k, D_v = s.d_v, N = QUERIES;
#pragma omp parallel num_threads(threads)
    {
        const WholeTiles tiles;
        Scratch own(K * (D_k / 2 + D_v / 2 + 2 * N) + N * (D_k / 2 + K / 2 + D_v));
        bf16 *keys = own.of<bf16>(K * D_k), *values = own.of<bf16>(K * D_v);
        bf16 *queries = own.of<bf16>(N * D_k), *factors = own.of<bf16>(N * K);
        float *scores = own.of(K * N), *heads = own.of(N * D_v);
        Weights<bf16> weights(a, own);
#pragma omp for schedule(dynamic, 64)
        for (int64_t job = 0; job < s.B * s.H; job++) {
            bring_whole(k.of(job, s.H), k.n, s.K, s.d_k, keys);
            pair_rows(v.of(job, s.H), v.n, s.K, s.d_v, values);
            expect(k, job, s, s.K, s.d_k);
            for (int64_t first = 0; first < s.Q; first += N) {
                const int64_t n = s.Q - first < N ? s.Q - first : N, wide = padded(n);
                float* of_job = stats + job * 2 * s.Q;
                turn(q.of(job, s.H) + first * q.n, q.n, n, s.d_k, queries);
                tile_product(s.K, wide, D_k, keys, D_k, turned_right(queries, D_k), scores, wide, false);
                if (first == 0) expect(v, job, s, s.K, s.d_v);
                weights.weigh(scores, of_job, job, first, n);
                if (first == 0) expect(q, job, s, s.Q, s.d_k);
                turned_rows_of(scores, s.K, n, factors);
                tile_product(n, D_v, K, factors, K, paired_right(values, D_v), heads, D_v, false);
                send_whole(heads, n, s.d_v, of_job + s.Q + first, 1, out.of(job, s.H) + first * out.n, out.n);
            }
        }
    }
}

static void tile_attention_backward(const Attention<bf16>& a, const Heads<const bf16>& gradient, const float* stats,
                                    const Gradients<bf16>& d, int threads) {
    const Heads<const bf16>&q = a.q, &k = a.k, &v = a.v;
    const Shape& s = a.s;
    const int64_t K = deep(s.K), D_k = s.d_k, D_v = s.d_v, N = QUERIES;
    const float scale = 1.0f / sqrtf((float)s.d_k), one = 1;
#pragma omp parallel num_threads(threads)
    {
        const WholeTiles tiles;
        Scratch own(K * (2 * D_k + D_v / 2 * 3 + 5 * N) + N * (D_k * 2 + D_v));
        bf16 *keys = own.of<bf16>(K * D_k), *paired_keys = own.of<bf16>(K * D_k), *values = own.of<bf16>(K * D_v);
        bf16 *queries = own.of<bf16>(N * D_k), *paired_queries = own.of<bf16>(N * D_k);
        bf16 *douts = own.of<bf16>(N * D_v), *paired_douts = own.of<bf16>(N * D_v), *factors = own.of<bf16>(K * N);
        float *dkeys = own.of(K * D_k), *dvalues = own.of(K * D_v), *dqueries = own.of(N * D_k);
        float *scores = own.of(K * N), *dscores = own.of(K * N);
        float* kept = a.dropped ? own.of(K * N) : scores;  // P M
        Weights<bf16> weights(a, own);
#pragma omp for schedule(dynamic, 64)
        for (int64_t job = 0; job < s.B * s.H; job++) {
            bring_whole(k.of(job, s.H), k.n, s.K, s.d_k, keys), pair_rows(k.of(job, s.H), k.n, s.K, s.d_k, paired_keys);
            bring_whole(v.of(job, s.H), v.n, s.K, s.d_v, values);
            expect(k, job, s, s.K, s.d_k);
            for (int64_t first = 0; first < s.Q; first += N) {
                const int64_t n = s.Q - first < N ? s.Q - first : N, wide = padded(n), depth = deep(n);
                const bf16 *own_q = q.of(job, s.H) + first * q.n, *own_g = gradient.of(job, s.H) + first * gradient.n;
                turn(own_q, q.n, n, s.d_k, queries), pair_rows(own_q, q.n, n, s.d_k, paired_queries);
                turn(own_g, gradient.n, n, s.d_v, douts), pair_rows(own_g, gradient.n, n, s.d_v, paired_douts);
                tile_product(s.K, wide, D_k, keys, D_k, turned_right(queries, D_k), scores, wide, false);
                tile_product(s.K, wide, D_v, values, D_v, turned_right(douts, D_v), dscores, wide, false);
                if (first == 0) expect(v, job, s, s.K, s.d_v);
                weights.weigh_backward(scores, kept, dscores, stats + job * 2 * s.Q, job, first, n);
                if (first == 0) expect(q, job, s, s.Q, s.d_k);
                rows_of(kept, s.K, n, factors);
                tile_product(s.K, D_v, depth, factors, depth, paired_right(paired_douts, D_v), dvalues, D_v, first > 0);
                if (first == 0) expect(gradient, job, s, s.Q, s.d_v);
                rows_of(dscores, s.K, n, factors);
                tile_product(s.K, D_k, depth, factors, depth, paired_right(paired_queries, D_k), dkeys, D_k, first > 0);
                turned_rows_of(dscores, s.K, n, factors);
                tile_product(n, D_k, K, factors, K, paired_right(paired_keys, D_k), dqueries, D_k, false);
                send_whole(dqueries, n, s.d_k, &scale, 0, d.q.of(job, s.H) + first * d.q.n, d.q.n);
            }
            send_whole(dkeys, s.K, s.d_k, &scale, 0, d.k.of(job, s.H), d.k.n);
            send_whole(dvalues, s.K, s.d_v, &one, 0, d.v.of(job, s.H), d.v.n);
        }
    }
}
#endif
