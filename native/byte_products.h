// A linear layer's int8 products in training: x W^T + b, and g W with g the gradient of the output.
//
// Each row of x, g and W (each column of W in g W) is quantised with its own scale; sums are exact. Processors with
// int8 vector products are 1.6 to 1.9 times as fast as in bf16, packing included.
#pragma once
#include "products.h"

// Gather W outputs' inputs as [in][W]; return each output's largest absolute value, or NaN. w_i and w_o are the strides
// of inputs and outputs, one of which is 1.
INLINE vf beside_each_other(const float* w, int64_t w_o, int64_t w_i, int64_t outputs, int64_t in, float* to) {
    vf most{}, nothing{}, square[W];
    for (int64_t i = 0; i < in; i += W) {
        const int64_t n = in - i < W ? in - i : W;
        for (int64_t r = 0; r < W; r++) {
            const bool is_there = w_i == 1 ? r < outputs : r < n;
            const float* from = w_i == 1 ? w + r * w_o + i : w + (i + r) * w_i;
            square[r] = is_there ? load(from, w_i == 1 ? n : outputs) : vf{};
        }
        if (w_i == 1) turn_square(square);
        for (int64_t r = 0; r < n; r++) {
            most = maximum(most, maximum(square[r], -square[r])), nothing += square[r] - square[r];
            store(to + (i + r) * W, square[r]);
        }
    }
    return most + nothing;
}

// Pack four vectors of integers from -128 to 127 into the bytes of one.
INLINE vi four_bytes(const vi* numbers) {
    return (numbers[0] & 255) | (numbers[1] & 255) << 8 | (numbers[2] & 255) << 16 | numbers[3] << 24;
}

// Quantise a matrix and pack it into panels (products.h).
static void byte_weight(const float* w, int64_t w_o, int64_t w_i, int64_t out, int64_t in, uint32_t* packed,
                        int threads) {
    const int64_t depth = Int8::depth(in), groups = (out + PANEL - 1) / PANEL * (PANEL / W);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t group = 0; group < groups; group++) {
        const int64_t o = group * W, outputs = out - o < 0 ? 0 : out - o < W ? out - o : W;
        uint32_t* panel = packed + o / PANEL * PANEL * Int8::words(in) + o % PANEL;
        const Scratch numbers(4 * depth * W);
        memset(numbers + in * W, 0, (4 * depth - in) * W * sizeof(float));
        const vf most = beside_each_other(w + o * w_o, w_o, w_i, outputs, in, numbers);
        const vf scale = most / splat(127), inverse = select(most > splat(Int8::SMALLEST), splat(127) / most, vf{});
        vi total{};
        for (int64_t k = 0; k < depth; k++) {
            vi whole[4];
            for (int i = 0; i < 4; i++) {
                const vf v = load(numbers + (4 * k + i) * W) * inverse;
                whole[i] = __builtin_convertvector(v + 128.5f, vi) - 128;
                total += whole[i];
            }
            store((float*)panel + k * PANEL, (vf)four_bytes(whole));
        }
        store((float*)panel + depth * PANEL, scale);
        store((float*)panel + (depth + 1) * PANEL, (vf)(128 * total));
    }
}

// Quantise rows of x (the backward pass reads them again) and multiply them by a packed weight. `past`: store the
// output by non-temporal stores.
template <class T>
static void byte_linear(const T* x, int64_t x_n, int64_t N, const Linear& w, uint32_t* rows, T* out, int64_t past,
                        int threads) {
    past = past && ((uintptr_t)out | w.out * sizeof(T)) % 64 == 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t n = 0; n < N; n += BLOCK) {
        const int64_t some = N - n < BLOCK ? N - n : BLOCK;
        uint32_t* here = rows + n * Int8::inputs(w.in);
        T* to = out + n * w.out;
        convert<Int8>(some, x + n * x_n, x_n, w.in, here);
        past ? panels<Int8, true>(some, here, w, to, w.out, 0, panel_count(w.out))
             : panels<Int8>(some, here, w, to, w.out, 0, panel_count(w.out));
        streamed();
    }
}
