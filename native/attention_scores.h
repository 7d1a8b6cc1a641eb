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
template <class T>
struct Attention {
    Heads<const T> q, k, v;
    Mask mask;
    Shape s;
    int64_t seed, dropped;
};
template <class T>
struct Gradients {
    Heads<T> q, k, v;
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

// A thread's way from scores to weights and back.
template <class T>
struct Weights {
    const Attention<T>& a;
    const Dropout dropout;
    const float scale;
    // Which queries may attend to which keys, (K, padded(n)), laid out like the scores; of which head's mask, and from
    // which query on. Heads, and often sentences, have the same.
    int32_t* which;
    const uint8_t* of = nullptr;
    int64_t first_of = -1;

    Weights(const Attention<T>& a, Scratch& own)
        : a(a), dropout(dropout_of(a.seed, a.dropped)), scale(1.0f / sqrtf((float)a.s.d_k)),
          which(own.of<int32_t>(a.s.K * QUERIES)) {}

    void bring_mask(int64_t job, int64_t first, int64_t n) {
        const Mask& mask = a.mask;
        const uint8_t* allowed = mask.allowed + job / a.s.H * mask.b + job % a.s.H * mask.h;
        if (!mask.allowed || (allowed == of && first == first_of)) return;
        of = allowed, first_of = first;
        for (int64_t k = 0; k < a.s.K; k++)
            for (int64_t i = 0; i < n; i++)
                which[k * padded(n) + i] = allowed[(first + i) * mask.q + k * mask.k] ? -1 : 0;
    }
    // The smallest finite number where attention is not allowed: a query without any allowed key takes the same of
    // all, not NaN.
    vf scaled(const float* scores, int64_t at) const {
        const vf x = load(scores + at) * scale;
        return a.mask.allowed ? select((vi)load((const float*)which + at), x, splat(HIDDEN)) : x;
    }
    // Dropout of n queries' weights with all keys; each has a place of its own wherever it is computed.
    void drop(float* weights, int64_t job, int64_t first, int64_t n) const {
        float factors[DROP];
        for (int64_t k = 0; a.dropped && k < a.s.K; k++, weights += n) {
            drop_factors(dropout, (job * a.s.K + k) * drop_blocks(a.s.Q) + first / DROP, factors);
            for (int64_t i = 0; i < n; i += W) store(weights + i, load(weights + i) * load(factors + i));
        }
    }

    // Scores (K, padded(n)) of n queries, not yet divided by sqrt(d_k), become e^(score - the query's highest), which
    // dropout takes from; stats (2, Q) of the job gets the highest scores and the inverses of the sums of powers.
    void weigh(float* scores, float* stats, int64_t job, int64_t first, int64_t n) {
        const int64_t N = padded(n), end = a.s.K * N;
        bring_mask(job, first, n);
        for (int64_t i = 0; i < N; i += W) {
            vf most = splat(-INFINITY), mass{};
            for (int64_t at = i; at < end; at += N) {
                const vf x = scaled(scores, at);
                store(scores + at, x);
                most = maximum(most, x);
            }
            for (int64_t at = i; at < end; at += N) {
                const vf e = decay<T>(load(scores + at) - most);
                store(scores + at, e);
                mass += e;
            }
            store(stats + first + i, most, n - i), store(stats + a.s.Q + first + i, 1.0f / mass, n - i);
        }
        drop(scores, job, first, N);
    }

    // Scores become weights P, `kept` what dropout left of them (the same memory where there is none), and the gradient
    // at what was left dS, the gradient at the scores.
    void weigh_backward(float* scores, float* kept, float* dscores, const float* stats, int64_t job, int64_t first,
                        int64_t n) {
        const int64_t N = padded(n), end = a.s.K * N;
        bring_mask(job, first, n);
        drop(dscores, job, first, N);
        for (int64_t i = 0; i < N; i += W) {
            const vf highest = load(stats + first + i, n - i), inverse = load(stats + a.s.Q + first + i, n - i);
            vf mean{};
            for (int64_t at = i; at < end; at += N) {
                const vf x = decay<T>(scaled(scores, at) - highest) * inverse;
                store(scores + at, x), store(kept + at, x);
                mean += x * load(dscores + at);
            }
            // A query without any allowed key has weights, though nothing depends on its scores.
            const vf some = select((vi)(highest == splat(HIDDEN)) & (a.mask.allowed ? -1 : 0), vf{}, splat(1.0f));
            for (int64_t at = i; at < end; at += N)
                store(dscores + at, load(scores + at) * (load(dscores + at) - mean) * some);
        }
        drop(kept, job, first, N);
    }
};
