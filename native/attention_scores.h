// What attention's kernels share: shapes, masks, and the way from scores to weights and back.
//
// Scores lie key by key, W queries side by side, so that a softmax is W of them at once and nothing is added up across
// a register.
#pragma once
#include "vector.h"

template <class T>
struct Heads {  // (B, H, n, d) by its strides, in elements
    T* x;
    int64_t b, h, n;

    // The rows of a job, which is a head of a sentence.
    T* of(int64_t job, int64_t H) const { return x + job / H * b + job % H * h; }
};
struct Mask {  // bytes, not 0 = may attend; no pointer: everything
    const uint8_t* allowed;
    int64_t b, h, q, k;
};
struct Shape {
    int64_t B, H, Q, K, d_k, d_v;
};

constexpr int64_t QUERIES = 64;  // queries at a time: as many as a block of dropout has numbers

// Ask for the rows of the next job, which come while this one is computed.
template <class T>
INLINE void expect(const Heads<const T>& x, int64_t job, const Shape& s, int64_t n, int64_t d) {
    if (++job >= s.B * s.H) return;
    const T* from = x.of(job, s.H);
    for (int64_t r = 0; r < n && r < QUERIES; r++)
        for (int64_t i = 0; i < d; i += 64 / sizeof(T)) __builtin_prefetch(from + r * x.n + i);
}

constexpr float HIDDEN = -3.40282347e38f;

// Which queries may attend to which keys: a thread's own copy, laid out like the scores. Heads, and often sentences,
// have the same.
struct Shown {
    int32_t* which;  // (K, padded(n))
    const uint8_t* of = nullptr;
    int64_t first = -1;

    void bring(const Mask& mask, int64_t job, int64_t from, int64_t n, const Shape& s) {
        const uint8_t* allowed = mask.allowed + job / s.H * mask.b + job % s.H * mask.h;
        if (allowed == of && from == first) return;
        of = allowed, first = from;
        for (int64_t k = 0; k < s.K; k++)
            for (int64_t i = 0; i < n; i++)
                which[k * padded(n) + i] = allowed[(from + i) * mask.q + k * mask.k] ? -1 : 0;
    }
    // The smallest finite number where attention is not allowed: a query without any allowed key takes the same of
    // all, not NaN.
    vf hide(int64_t at, vf scores) const {
        vi may;
        __builtin_memcpy(&may, which + at, sizeof may);
        return select(may, scores, splat(HIDDEN));
    }
};

// The factors of dropout for one key of n queries, whose weights have a place of their own wherever they are computed.
INLINE void drop_key(const Dropout& of, const Shape& s, int64_t job, int64_t k, int64_t first, int64_t n, float* row) {
    float factors[DROP];
    drop_factors(of, (job * s.K + k) * drop_blocks(s.Q) + first / DROP, factors);
    for (int64_t i = 0; i < n; i += W) store(row + i, load(row + i) * load(factors + i));
}

// Scores (K, padded(n)) of n queries, not yet divided by sqrt(d_k), become e^(score - the query's highest), which dropout
// takes from; stats (2, Q) of the job gets the highest scores and the inverses of the sums of powers.
template <class T>
INLINE void weigh(float* scores, float scale, const Mask& mask, Shown& shown, float* stats, const Dropout& dropout,
                  const Shape& s, int64_t job, int64_t first, int64_t n) {
    const int64_t N = padded(n);
    if (mask.allowed) shown.bring(mask, job, first, n, s);
    for (int64_t i = 0; i < N; i += W) {
        vf most = splat(-INFINITY), mass{};
        for (int64_t at = i; at < s.K * N; at += N) {
            vf x = load(scores + at) * scale;
            if (mask.allowed) x = shown.hide(at, x);
            store(scores + at, x);
            most = maximum(most, x);
        }
        for (int64_t at = i; at < s.K * N; at += N) {
            const vf e = decay<T>(load(scores + at) - most);
            store(scores + at, e);
            mass += e;
        }
        store(stats + first + i, most, n - i), store(stats + s.Q + first + i, 1.0f / mass, n - i);
    }
    for (int64_t k = 0; dropout.dropped && k < s.K; k++) drop_key(dropout, s, job, k, first, N, scores + k * N);
}

// Scores become weights P, `kept` what dropout left of them (the same memory where there is none), and the gradient at
// what was left dS, the gradient at the scores.
template <class T>
INLINE void weigh_backward(float* weights, float* kept, float* dscores, float scale, const Mask& mask, Shown& shown,
                           const float* stats, const Dropout& dropout, const Shape& s, int64_t job, int64_t first,
                           int64_t n) {
    const int64_t N = padded(n);
    if (mask.allowed) shown.bring(mask, job, first, n, s);
    for (int64_t k = 0; dropout.dropped && k < s.K; k++) drop_key(dropout, s, job, k, first, N, dscores + k * N);
    for (int64_t i = 0; i < N; i += W) {
        const vf highest = load(stats + first + i, n - i), inverse = load(stats + s.Q + first + i, n - i);
        vf mean{};
        for (int64_t at = i; at < s.K * N; at += N) {
            vf x = load(weights + at) * scale;
            if (mask.allowed) x = shown.hide(at, x);
            x = decay<T>(x - highest) * inverse;
            store(weights + at, x), store(kept + at, x);
            mean += x * load(dscores + at);
        }
        // A query without any allowed key has weights, though nothing depends on its scores.
        const vf some = select((vi)(highest == splat(HIDDEN)) & (mask.allowed ? -1 : 0), vf{}, splat(1.0f));
        for (int64_t at = i; at < s.K * N; at += N)
            store(dscores + at, load(weights + at) * (load(dscores + at) - mean) * some);
    }
    for (int64_t k = 0; dropout.dropped && k < s.K; k++) drop_key(dropout, s, job, k, first, N, kept + k * N);
}
