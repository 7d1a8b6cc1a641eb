// Shared by the attention kernels: shapes, masks, and the softmax from scores to weights and its gradient.
//
// Scores are stored key by key with W queries side by side, so that W softmaxes run in parallel and nothing is summed
// across a register.
#pragma once
#include "vector.h"

template <class T>
struct Heads {  // (B, H, n, d) with its strides, in elements
    T* x;
    int64_t b, h, n;

    // The rows of a job, that is, of one head of one sentence.
    T* of(int64_t job, int64_t H) const { return x + job / H * b + job % H * h; }
};
struct Mask {  // bytes, nonzero = may attend; null: everything
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

constexpr int64_t QUERIES = 64;  // queries at a time: the size of a block of dropout

// Prefetch the rows of the next job while this one is computed.
template <class T>
INLINE void expect(const Heads<const T>& x, int64_t job, const Shape& s, int64_t n, int64_t d) {
    if (++job >= s.B * s.H) return;
    const T* from = x.of(job, s.H);
    for (int64_t r = 0; r < n && r < QUERIES; r++)
        for (int64_t i = 0; i < d; i += 64 / sizeof(T)) __builtin_prefetch(from + r * x.n + i);
}

constexpr float HIDDEN = -3.40282347e38f;

// A thread's softmax from scores to weights, and its gradient.
template <class T>
struct Weights {
    const Attention<T>& a;
    const Dropout dropout;
    const float scale;
    // The mask of n queries, (K, padded(n)), laid out like the scores; `of` and `first_of` identify it, because heads,
    // and often sentences, share one.
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
    // Masked scores are the smallest finite number, so that no sum becomes NaN.
    vf scaled(const float* scores, int64_t at) const {
        const vf x = load(scores + at) * scale;
        return a.mask.allowed ? select((vi)load((const float*)which + at), x, splat(HIDDEN)) : x;
    }
    // Dropout of n queries' weights over all keys; the mask depends on each weight's index alone.
    void drop(float* weights, int64_t job, int64_t first, int64_t n) const {
        float factors[DROP];
        for (int64_t k = 0; a.dropped && k < a.s.K; k++, weights += n) {
            drop_factors(dropout, (job * a.s.K + k) * drop_blocks(a.s.Q) + first / DROP, factors);
            for (int64_t i = 0; i < n; i += W) store(weights + i, load(weights + i) * load(factors + i));
        }
    }

    // Turn unscaled scores (K, padded(n)) of n queries into e^(score - the query's maximum), with dropout. The job's
    // stats (2, Q) receive the maxima and the inverses of the sums of exponentials.
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
            // A query without any allowed key has weights 0.
            const vf inverse = select((vi)(most == splat(HIDDEN)) & (a.mask.allowed ? -1 : 0), vf{}, 1.0f / mass);
            store(stats + first + i, most, n - i), store(stats + a.s.Q + first + i, inverse, n - i);
        }
        drop(scores, job, first, N);
    }

    // Turn scores into weights P, `kept` into P with dropout (the same memory without dropout), and the gradient of
    // `kept` into dS, the gradient of the scores.
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
            for (int64_t at = i; at < end; at += N)
                store(dscores + at, load(scores + at) * (load(dscores + at) - mean));
        }
        drop(kept, job, first, N);
    }
};
