// Smoothed cross-entropy of N rows of V logits, and in their place its gradient softmax - q, with
// q = (1 - s) one_hot(target) + s / V. sums: negative log-likelihood, the same against the uniform
// distribution, correct first guesses.
#pragma once
#include "vector.h"

template <class T>
static void cross_entropy(T* logits, const int64_t* targets, double* sums, double* parts, int64_t N, int64_t V,
                          double smoothing, int wanted, int threads) {
    const int64_t share = (N + threads - 1) / threads;
    const float uniform = (float)(smoothing / (double)V);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < threads; t++) {
        float* powers = scratch(padded(V));
        double nll = 0, flat = 0, correct = 0;
        for (int64_t r = t * share; r < N && r < (t + 1) * share; r++) {
            T* x = logits + r * V;
            const int64_t whole = V / W * W;
            vf most = splat(-INFINITY), total{};
            for (int64_t i = 0; i < whole; i += W) {
                vf v = load(x + i);
                most = select(v <= most, most, v);
                total += v;
            }
            if (whole < V) {
                vf v = load(x + whole, V - whole);
                total += v;
                most = select(lanes() < (int32_t)(V - whole), select(v <= most, most, v), most);
            }
            const float highest = largest(most), mean = sum(total) / (float)V;
            vf mass{};
            for (int64_t i = 0; i < V; i += W) {
                vf e = exponential(load(x + i, V - i) - highest);
                if (V - i < W) e = (vf)((vi)e & (lanes() < (int32_t)(V - i)));
                store(powers + i, e);
                mass += e;
            }
            const float z = sum(mass), log_z = logf(z) + highest, inverse = 1.0f / z;
            float said[W];
            store(said, load(x + targets[r], 1));
            nll += log_z - said[0];
            flat += log_z - mean;
            correct += said[0] >= highest;
            if (!wanted) continue;
            for (int64_t i = 0; i < V; i += W) store(x + i, load(powers + i) * inverse - uniform, V - i);
            const vf target = splat(powers[targets[r]] * inverse - uniform - (float)(1 - smoothing));
            store(x + targets[r], target, 1);
        }
        free(powers);
        parts[3 * t] = nll, parts[3 * t + 1] = flat, parts[3 * t + 2] = correct;
    }
    sums[0] = sums[1] = sums[2] = 0;
    for (int64_t t = 0; t < threads; t++)
        for (int k = 0; k < 3; k++) sums[k] += parts[3 * t + k];
}
