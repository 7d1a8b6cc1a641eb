// The additive score v . tanh(q + k) for Q queries and K keys in each of N heads (Bahdanau et al. 2015, appendix
// A.1.2), and its gradients. tanh(q + k) = 1 - 2 / (e^2q e^2k + 1) would be the model's largest tensor by far. It is
// computed twice, from exponentials taken once, and never stored: two to three times as fast as PyTorch's eight passes.
#pragma once
#include "vector.h"

struct Additive {
    const float *q, *k, *v;  // e^2q (N, Q, d), e^2k (N, K, d), v (d); d is a multiple of 16
    int64_t N, Q, K, d;
};

INLINE vf tangent(const float* q, const float* k) { return 1.0f - 2.0f / (load(q) * load(k) + 1.0f); }

// scores (N, Q, K)
static void additive(const Additive& a, float* scores, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < a.N * a.Q; r++) {
        const float *q = a.q + r * a.d, *keys = a.k + r / a.Q * a.K * a.d;
        for (int64_t j = 0; j < a.K; j++) {
            vf total{};
            for (int64_t c = 0; c < a.d; c += W) total += load(a.v + c) * tangent(q + c, keys + j * a.d + c);
            scores[r * a.K + j] = sum(total);
        }
    }
}

// With t = tanh(q + k): dq = sum over keys of g v (1 - t^2), dk the same over queries, dv = sum of g t. `parts` holds
// each thread's dv, so that the order of summation is fixed.
static void additive_backward(const Additive& a, const float* gradient, float* dq, float* dk, float* dv, int threads) {
    const Scratch parts(threads * a.d);
    const int64_t share = (a.N + threads - 1) / threads;
    memset(dk, 0, (size_t)(a.N * a.K * a.d) * 4);
    memset(parts, 0, (size_t)(threads * a.d) * 4);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t thread = 0; thread < threads; thread++) {
        float* own = parts + thread * a.d;
        const int64_t first = thread * share, end = first + share < a.N ? first + share : a.N;
        for (int64_t r = first * a.Q; r < end * a.Q; r++) {
            const float *q = a.q + r * a.d, *g = gradient + r * a.K;
            const int64_t keys = r / a.Q * a.K * a.d;
            for (int64_t c = 0; c < a.d; c += W) {
                vf dq_c{}, dv_c = load(own + c);
                const vf v = load(a.v + c);
                for (int64_t j = 0; j < a.K; j++) {
                    const int64_t at = keys + j * a.d + c;
                    const vf t = tangent(q + c, a.k + at), slope = v * (1.0f - t * t) * g[j];
                    store(dk + at, load(dk + at) + slope);
                    dq_c += slope;
                    dv_c += t * g[j];
                }
                store(dq + r * a.d + c, dq_c);
                store(own + c, dv_c);
            }
        }
    }
    for (int64_t c = 0; c < a.d; c++) {
        dv[c] = 0;
        for (int64_t thread = 0; thread < threads; thread++) dv[c] += parts[thread * a.d + c];
    }
}
