// LayerNorm(x + Dropout(y)) and its parts.
#pragma once
#include "vector.h"

struct Norm {
    const float *gamma, *beta;
    double epsilon;
};
struct Moments {
    float mean, rstd;
};

// Normalise a row of d columns, given its sum.
template <class T>
INLINE Moments normed(const float* row, float total, int64_t d, const Norm& norm, T* out) {
    const float mean = total / (float)d;
    vf squares{};
    for (int64_t i = 0; i < d; i += W) {
        vf off = load(row + i, d - i) - mean;
        // The zeros after the last column do not belong to the row.
        if (d - i < W) off = (vf)((vi)off & (lanes() < (int32_t)(d - i)));
        squares += off * off;
    }
    const float rstd = 1.0f / sqrtf(sum(squares) / (float)d + (float)norm.epsilon);
    for (int64_t i = 0; i < d; i += W) {
        const vf gamma = load(norm.gamma + i, d - i), beta = load(norm.beta + i, d - i);
        store(out + i, (load(row + i, d - i) - mean) * rstd * gamma + beta, d - i);
    }
    return {mean, rstd};
}

// z (R, d) = x + Dropout(y), or x without y; with a norm, out = LayerNorm(z), with each row's mean and rstd.
template <class T>
static void residual(const T* x, const T* y, const Norm* norm, T* z, T* out, float* mean, float* rstd, int64_t R,
                     int64_t d, int64_t seed, int64_t dropped, int threads) {
    const Dropout drop = dropout_of(seed, dropped);
#pragma omp parallel num_threads(threads)
    {
        const Scratch row(padded(d));
        float factors[DROP];
#pragma omp for schedule(static)
        for (int64_t r = 0; r < R; r++) {
            vf total{};
            for (int64_t c = 0; c < d; c += DROP) {
                if (y && dropped) drop_factors(drop, r * drop_blocks(d) + c / DROP, factors);
                for (int64_t i = c; i < d && i < c + DROP; i += W) {
                    vf v = load(x + r * d + i, d - i);
                    expect(x + r * d + i);
                    if (y) {
                        vf added = load(y + r * d + i, d - i);
                        expect(y + r * d + i);
                        v += dropped ? added * load(factors + i - c) : added;
                    }
                    if (z) store(z + r * d + i, v, d - i);
                    store(row + i, v);
                    total += v;
                }
            }
            if (!norm) continue;
            const Moments found = normed(row, sum(total), d, *norm, out + r * d);
            mean[r] = found.mean, rstd[r] = found.rstd;
        }
    }
}

// With n = (z - mean) rstd and g = gradient * gamma: dz = rstd (g - mean(g) - n mean(g n)); dx = dz and
// dy = dz * mask / keep; dgamma = sum over rows of gradient * n, dbeta of the gradient. `parts` holds each thread's
// sums, so that the order of summation is fixed.
template <class T>
static void residual_backward(const T* gradient, const T* z, const float* gamma, const float* mean,
                              const float* rstd, T* dx, T* dy, float* dgamma, float* dbeta, int64_t R,
                              int64_t d, int64_t seed, int64_t dropped, int threads) {
    const Dropout drop = dropout_of(seed, dropped);
    const int64_t D = padded(d), share = (R + threads - 1) / threads;
    const Scratch parts(2 * D * threads);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < threads; t++) {
        const Scratch row(D), normal(D);
        float factors[DROP];
        float *dgamma_t = parts + 2 * t * D, *dbeta_t = dgamma_t + D;
        for (int64_t i = 0; i < 2 * D; i++) dgamma_t[i] = 0;
        for (int64_t r = t * share; r < R && r < (t + 1) * share; r++) {
            vf sum_g{}, sum_gn{};
            for (int64_t i = 0; i < d; i += W) {
                expect(gradient + r * d + i), expect(z + r * d + i);
                vf o = load(gradient + r * d + i, d - i);
                vf n = (load(z + r * d + i, d - i) - mean[r]) * rstd[r];
                vf g = o * load(gamma + i, d - i);
                store(row + i, g);
                store(normal + i, n);
                store(dgamma_t + i, load(dgamma_t + i) + o * n);
                store(dbeta_t + i, load(dbeta_t + i) + o);
                sum_g += g;
                sum_gn += g * n;
            }
            const float mean_g = sum(sum_g) / (float)d, mean_gn = sum(sum_gn) / (float)d;
            for (int64_t c = 0; c < d; c += DROP) {
                if (dy) drop_factors(drop, r * drop_blocks(d) + c / DROP, factors);
                for (int64_t i = c; i < d && i < c + DROP; i += W) {
                    vf v = (load(row + i) - mean_g - load(normal + i) * mean_gn) * rstd[r];
                    store(dx + r * d + i, v, d - i);
                    if (dy) store(dy + r * d + i, v * load(factors + i - c), d - i);
                }
            }
        }
    }
    for (int64_t i = 0; i < d; i++) {
        float g = 0, b = 0;
        for (int64_t t = 0; t < threads; t++) g += parts[2 * t * D + i], b += parts[(2 * t + 1) * D + i];
        dgamma[i] = g, dbeta[i] = b;
    }
}
