// Dropout of R rows of C columns; ReLU; GELU by tanh.
#pragma once
#include "vector.h"

// out = x * mask / keep; its gradient is the same function of the gradient.
template <class T>
static void dropout(const T* x, T* out, int64_t R, int64_t C, int64_t seed, int64_t dropped, int threads) {
    const Dropout drop = dropout_of(seed, dropped);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < R; r++) {
        float factors[DROP];
        for (int64_t c = 0; c < C; c += DROP) {
            drop_factors(drop, r * drop_blocks(C) + c / DROP, factors);
            for (int64_t i = c; i < C && i < c + DROP; i += W)
                store(out + r * C + i, load(x + r * C + i, C - i) * load(factors + i - c), C - i);
        }
    }
}

// max(0, x).
template <class T>
static void relu(const T* x, T* out, int64_t n, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i += W) {
        expect(x + i);
        vf v = load(x + i, n - i);
        store(out + i, select(v < splat(0.0f), splat(0.0f), v), n - i);  // this form propagates NaN
    }
}

// The gradient passes where the output is positive or NaN.
template <class T>
static void relu_backward(const T* gradient, const T* out, T* dx, int64_t n, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i += W) {
        expect(gradient + i), expect(out + i);
        store(dx + i, select(load(out + i, n - i) <= vf{}, vf{}, load(gradient + i, n - i)), n - i);
    }
}

// GELU as published models approximate it (Hendrycks and Gimpel 2016, sec. 2): 0.5 x (1 + tanh(u)) = x sigmoid(2 u), with
// 2 u = x (c + c_3 x^2). PyTorch computes the hyperbolic tangent, four times as slowly.
constexpr float GELU = 1.5957691216057308f, GELU_3 = GELU * 0.044715f;

// e^-|2 u|, and sigmoid(2 u).
INLINE vf gelu_share(vf x, vf& power) {
    const vf twice_u = x * (GELU + GELU_3 * x * x);
    power = exponential(twice_u < vf{} ? twice_u : -twice_u);
    return (twice_u < vf{} ? power : splat(1.0f)) / (1.0f + power);
}

template <class T>
static void gelu_tanh(const T* x, T* out, int64_t n, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i += W) {
        expect(x + i);
        vf power;
        const vf v = load(x + i, n - i);
        store(out + i, v * gelu_share(v, power), n - i);
    }
}

template <class T>
static void gelu_tanh_backward(const T* gradient, const T* x, T* dx, int64_t n, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i += W) {
        expect(gradient + i), expect(x + i);
        vf power;
        const vf v = load(x + i, n - i), share = gelu_share(v, power);
        const vf change = power / ((1.0f + power) * (1.0f + power));  // sigmoid'
        const vf slope = share + v * change * (GELU + 3.0f * GELU_3 * v * v);
        store(dx + i, load(gradient + i, n - i) * slope, n - i);
    }
}
