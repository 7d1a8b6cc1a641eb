// Scaled embedding lookup in a float32 matrix, and its gradient.
#pragma once
#include "vector.h"

// out (N, d) = scale weight[ids].
template <class T>
static void lookup(const float* weight, const int64_t* ids, T* out, int64_t N, int64_t d, double scale, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < N; r++)
        for (int64_t i = 0; i < d; i += W)
            store(out + r * d + i, load(weight + ids[r] * d + i, d - i) * (float)scale, d - i);
}

// dweight (V, d): for each id, the sum of scale * gradient[r] over its occurrences r. Each thread owns a range of ids,
// so sums do not depend on the number of threads.
template <class T>
static void lookup_backward(const T* gradient, const int64_t* ids, float* dweight, int64_t N, int64_t V, int64_t d,
                            double scale, int threads) {
    const int64_t share = (V + threads - 1) / threads;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < threads; t++) {
        const int64_t first = t * share, last = first + share < V ? first + share : V;
        if (first < last) memset(dweight + first * d, 0, (last - first) * d * sizeof(float));
        for (int64_t r = 0; r < N; r++) {
            if (ids[r] < first || ids[r] >= last) continue;
            float* to = dweight + ids[r] * d;
            for (int64_t i = 0; i < d; i += W)
                store(to + i, load(to + i, d - i) + load(gradient + r * d + i, d - i) * (float)scale, d - i);
        }
    }
}
