// Half the sum of KL(p || q) and KL(q || p) over pairs of rows, p = softmax(a), q = softmax(b), and its
// gradient where it is wanted: (p (D - sum p D) + p - q) / 2 for a, D = log p - log q; for b exchanged.
#pragma once
#include "vector.h"

// exp(x - highest) into powers, zero beyond V; returns log sum exp, and 1 / sum of the powers.
template <class T>
static float powers_of(const T* x, int64_t V, float* powers, float* inverse) {
    vf most = splat(-INFINITY), mass{};
    for (int64_t i = 0; i < V; i += W) {
        vf v = load(x + i, V - i);
        if (V - i < W) v = select(lanes() < (int32_t)(V - i), v, splat(-INFINITY));
        most = select(v <= most, most, v);  // so written that NaN wins
    }
    const float highest = largest(most);
    for (int64_t i = 0; i < V; i += W) {
        vf e = exponential(load(x + i, V - i) - highest);
        if (V - i < W) e = (vf)((vi)e & (lanes() < (int32_t)(V - i)));
        store(powers + i, e);
        mass += e;
    }
    const float z = sum(mass);
    *inverse = 1.0f / z;
    return logf(z) + highest;
}

template <class T>
static void disagreement(const T* logits, T* gradient, double* sums, double* parts, int64_t pairs, int64_t V,
                         int threads) {
    const int64_t share = (pairs + threads - 1) / threads;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < threads; t++) {
        float *p = scratch(padded(V)), *q = scratch(padded(V));
        double found = 0;
        for (int64_t r = t * share; r < pairs && r < (t + 1) * share; r++) {
            const T *a = logits + 2 * r * V, *b = a + V;
            float of_a, of_b;
            const float shift = powers_of(b, V, q, &of_b) - powers_of(a, V, p, &of_a);
            vf with_p{}, with_q{};
            for (int64_t i = 0; i < V; i += W) {
                const vf d = load(a + i, V - i) - load(b + i, V - i) + shift;
                with_p += load(p + i) * d, with_q += load(q + i) * d;
            }
            const float mean_p = sum(with_p) * of_a, mean_q = sum(with_q) * of_b;
            found += 0.5 * ((double)mean_p - mean_q);
            if (!gradient) continue;
            T *da = gradient + 2 * r * V, *db = da + V;
            for (int64_t i = 0; i < V; i += W) {
                const vf d = load(a + i, V - i) - load(b + i, V - i) + shift;
                const vf one = load(p + i) * (0.5f * of_a), other = load(q + i) * (0.5f * of_b);
                store(da + i, one * (d - mean_p) + one - other, V - i);
                store(db + i, other * (mean_q - d) + other - one, V - i);
            }
        }
        free(p), free(q);
        parts[t] = found;
    }
    *sums = 0;
    for (int64_t t = 0; t < threads; t++) *sums += parts[t];
}
