// Smoothed cross-entropy of N rows of V logits, and its gradient softmax - q, with q = (1 - s) one_hot(target) + s / V.
// sums: negative log-likelihood, mean -log p over the vocabulary, correct top-1 predictions.
#pragma once
#include "vector.h"

struct Softmax {
    float *powers, z;  // e^(x - maximum), zero-padded; their sum
};

// Compute the softmax of a row, and add its loss to sums.
template <class T>
INLINE Softmax softmax(const T* x, int64_t V, int64_t target, float* powers, double* sums) {
    // Four accumulators, because dependent operations are latency-bound.
    vf most[4], total[4] = {};
    for (vf& m : most) m = splat(-INFINITY);
    int64_t i = 0;
    for (; i + 4 * W <= V; i += 4 * W)
        for (int k = 0; k < 4; k++) {
            expect(x + i + k * W);
            const vf v = load(x + i + k * W);
            most[k] = maximum(most[k], v);
            total[k] += v;
        }
    for (; i < V; i += W) {
        const vf v = load(x + i, V - i);
        total[0] += v;
        most[0] = select(lanes() < (int32_t)(V - i < W ? V - i : W), maximum(most[0], v), most[0]);
    }
    const float highest = largest(maximum(maximum(most[0], most[1]), maximum(most[2], most[3])));
    const float mean = sum(total[0] + total[1] + (total[2] + total[3])) / (float)V;
    vf mass{};
    for (int64_t i = 0; i < V; i += W) {
        vf e = decay<T>(load(x + i, V - i) - highest);
        if (V - i < W) e = (vf)((vi)e & (lanes() < (int32_t)(V - i)));
        store(powers + i, e);
        mass += e;
    }
    float said[W];
    store(said, load(x + target, 1));
    const float z = sum(mass), log_z = logf(z) + highest;
    sums[0] += log_z - said[0];
    sums[1] += log_z - mean;
    sums[2] += said[0] >= highest;
    return {powers, z};
}

static void add_parts(double* sums, const double* parts, int threads) {
    sums[0] = sums[1] = sums[2] = 0;
    for (int64_t t = 0; t < threads; t++)
        for (int k = 0; k < 3; k++) sums[k] += parts[3 * t + k];
}

// If `wanted`, overwrite the logits by their gradient.
template <class T>
static void cross_entropy(T* logits, const int64_t* targets, double* sums, int64_t N, int64_t V, double smoothing,
                          int64_t wanted, int threads) {
    const int64_t share = (N + threads - 1) / threads;
    Scratch memory(6 * threads);
    double* parts = memory.of<double>(3 * threads);
    const float uniform = (float)(smoothing / (double)V);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < threads; t++) {
        const Scratch powers(padded(V));
        double its_sums[3] = {};
        for (int64_t r = t * share; r < N && r < (t + 1) * share; r++) {
            T* x = logits + r * V;
            const Softmax p = softmax(x, V, targets[r], powers, its_sums);
            if (!wanted) continue;
            powers[targets[r]] -= (float)(1 - smoothing) * p.z;
            for (int64_t i = 0; i < V; i += W) store(x + i, load(powers + i) * (1.0f / p.z) - uniform, V - i);
        }
        memcpy(parts + 3 * t, its_sums, sizeof its_sums);
    }
    add_parts(sums, parts, threads);
}
