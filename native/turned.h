// g^T and 1^T g of a matrix g (N, e): what a linear layer's gradient at its weights, g^T x, and at its bias are made of.
//
// Where products have matrix registers, multiplying by a matrix that lies the other way round takes twice as long as
// turning it round, and its bias' gradient comes on the way: both together 1.2 to 1.7 times as fast.
#pragma once
#include "vector.h"

// A square of W registers, whose rows are interleaved log2 W times.
INLINE void turn_square(vf* one) {
    vf other[W];
    for (int n = 1; n < W; n *= 2) {
        for (int i = 0; i < W / 2; i++) {
            other[2 * i] = SHUFFLE(one[i], one[i + W / 2], FIRST_HALVES);
            other[2 * i + 1] = SHUFFLE(one[i], one[i + W / 2], SECOND_HALVES);
        }
        for (int i = 0; i < W; i++) one[i] = other[i];
    }
}

constexpr int SQUARE = 2 * W;  // rows of bf16: two beside each other are moved as one number

// SQUARE rows and W columns.
INLINE void turn_part(const bf16* g, int64_t e, bf16* out, int64_t stride, float* sums, bool past) {
    vf pairs[W], total = load(sums);
    for (int i = 0; i < W; i++) {
        const vf first = load(g + 2 * i * e), second = load(g + (2 * i + 1) * e);
        total += first, total += second;
        pairs[i] = (vf)((vu)first >> 16 | (vu)second);
    }
    store(sums, total);
    turn_square(pairs);
    for (int i = 0; i < W; i++) hand_on((float*)(out + i * stride), pairs[i], W, past);
}

INLINE float number(bf16 x) {
    const uint32_t bits = (uint32_t)x.bits << 16;
    float f;
    __builtin_memcpy(&f, &bits, 4);
    return f;
}

// out (e, N), so many numbers from row to row, with zeros behind the N-th: products on matrix registers multiply what
// stands there by 0, which makes no zero of what is no number. parts (threads, padded(e)), of which sums (e) is the sum.
static void turned(const bf16* g, int64_t N, int64_t e, bf16* out, int64_t stride, float* sums, float* parts,
                   int threads) {
    const int64_t share = (N / SQUARE + threads - 1) / threads * SQUARE, whole = e / W * W;
    const bool past = lined_up(out, stride * sizeof(bf16));
    memset(parts, 0, threads * padded(e) * sizeof(float));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        float* own = parts + t * padded(e);
        const int64_t last = t + 1 == threads || (t + 1) * share > N ? N : (t + 1) * share;
        const int64_t end = last / SQUARE * SQUARE;
        for (int64_t r = t * share; r < end; r += SQUARE)
            for (int64_t c = 0; c < whole; c += W)
                turn_part(g + r * e + c, e, out + c * stride + r, stride, own + c, past);
        // What is left of the columns, and of the last rows.
        for (int64_t row = t * share; row < last; row++)
            for (int64_t c = row < end ? whole : 0; c < e; c++)
                out[c * stride + row] = g[row * e + c], own[c] += number(g[row * e + c]);
    }
    for (int64_t c = 0; c < e; c++) {
        memset(out + c * stride + N, 0, (stride - N) * sizeof(bf16));
        sums[c] = 0;
        for (int t = 0; t < threads; t++) sums[c] += parts[t * padded(e) + c];
    }
}
