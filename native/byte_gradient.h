// g^T x and 1^T g in float32: the gradients of a linear layer's weights, in int8, and of its bias.
//
// x is the int8 matrix of the forward pass, with a scale per row (byte_products.h). These scales are folded into g. The
// columns of g, some hundred rows at a time, are quantised with their own scales by stochastic rounding (Gupta et al.
// 2015, sec. 3.1), whose errors average out over rows. Sums are exact, and do not depend on the number of threads. 1.3
// to 1.5 times as fast as bf16.
#pragma once
#include "byte_products.h"

constexpr int64_t GROUP = 8 * ROWS;  // columns of g per panel
constexpr int64_t SUMMED = 512;      // rows, and columns of g and x, at a time: they stay in the L2 cache

// Transpose four rows of 4 W bytes into 4 W columns of four: each lane transposes a 4 x 4 square, then the columns, of
// which a lane holds four, are put in order.
INLINE void turn_bytes(vu* row) {
    const vu even = 0x00ff00ff + vu{}, low = 0xffff + vu{};
    const vu a = (row[0] & even) | (row[1] & even) << 8, b = (row[0] >> 8 & even) | (row[1] & ~even);
    const vu c = (row[2] & even) | (row[3] & even) << 8, d = (row[2] >> 8 & even) | (row[3] & ~even);
    const vu first = (a & low) | c << 16, second = (b & low) | d << 16, third = a >> 16 | (c & ~low);
    const vu fourth = b >> 16 | (d & ~low);
    const vu odd[2] = {(vu)SHUFFLE(first, third, FIRST_HALVES), (vu)SHUFFLE(first, third, SECOND_HALVES)};
    const vu others[2] = {(vu)SHUFFLE(second, fourth, FIRST_HALVES), (vu)SHUFFLE(second, fourth, SECOND_HALVES)};
    for (int half = 0; half < 2; half++) {
        row[2 * half] = (vu)SHUFFLE(odd[half], others[half], FIRST_HALVES);
        row[2 * half + 1] = (vu)SHUFFLE(odd[half], others[half], SECOND_HALVES);
    }
}

// Pack the bytes of x into panels of 64 columns, a word per four rows of a column; 128 times each column's sum follows.
static void rows_together(const uint32_t* rows, int64_t stride, int64_t n, int64_t columns, uint32_t* to) {
    const int64_t words = (n + 3) / 4;
    for (int64_t c = 0; c < columns; c += PANEL, to += PANEL * words + PANEL)
        for (int64_t i = 0; i < PANEL; i += 4 * W) {
            const int64_t left = (columns - c - i + 3) / 4;
            vi offsets[4] = {};
            for (int64_t k = 0; k < words; k++) {
                vu four[4];
#pragma GCC unroll 4
                for (int64_t row = 4 * k; row < 4 * k + 4; row++) {
                    const float* bytes = (const float*)(rows + row * stride + (c + i) / 4);
                    four[row - 4 * k] = row < n ? (vu)load(bytes, left) ^ ZERO * 0x01010101u : vu{};
                }
                turn_bytes(four);
#pragma GCC unroll 4
                for (int r = 0; r < 4; r++) {
                    offsets[r] = dot(offsets[r], 0x01010101u * ZERO, (vi)four[r]);
                    store((float*)to + k * PANEL + i + r * W, (vf)four[r]);
                }
            }
            for (int r = 0; r < 4; r++) store((float*)to + words * PANEL + i + r * W, (vf)offsets[r]);
        }
}

// The position of the rows and columns being rounded. It determines 32 random bits for four rows of a column, on any
// thread.
struct Place {
    int64_t seed, row, column, columns;
    vu chance(int64_t k, int64_t c) const {
        const vu at = (vu)lanes() + (uint32_t)((row / 4 + k) * columns + column + c);
        return mixed(at ^ (uint32_t)seed) + (uint32_t)(seed >> 32);
    }
};

// Stochastic rounding of four rows of numbers from -127 to 127: the bytes of `chance`, as 256ths, are added before
// rounding down.
INLINE vi rounded(const vf* numbers, vu chance) {
    vu whole[4];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++)
        whole[i] = (vu)__builtin_convertvector(numbers[i] * 256.0f + 32768.99f, vi) + (chance >> 8 * i & 255);
    const vu word = whole[0] >> 8 & 0xff | whole[1] & 0xff00 | (whole[2] & 0xff00) << 8 | (whole[3] & 0xff00) << 16;
    return (vi)(word ^ (ZERO ? 0 : 0x80808080u));
}

// Pack columns of g, times the scales of x's rows, into panels of 48 columns of stochastically rounded bytes, a word
// per four rows; also store each column's scale and, on request, its sum.
template <class T>
static void gradient_together(const T* g, int64_t g_n, const float* of_rows, int64_t n, int64_t columns, Place place,
                              uint32_t* to, float* scales, float* sums) {
    constexpr int BESIDE = GROUP / W;
    const int64_t words = (n + 3) / 4;
    for (int64_t c = 0; c < columns; c += GROUP, to += GROUP * words) {
        vi most[BESIDE] = {};  // of numbers without their sign, ordered as whole numbers are; NaN is the largest
        vf total[BESIDE] = {}, inverse[BESIDE];
        const auto entries = [&](int64_t row, int i) { return load(g + row * g_n + c + i * W, columns - c - i * W); };
        for (int64_t row = 0; row < n; row++) {
            // Rows lie apart: no processor sees by itself which lines come next.
            for (int64_t i = 0; i < GROUP; i += 32) __builtin_prefetch(g + (row + 24) * g_n + c + i);
#pragma GCC unroll 12
            for (int i = 0; i < BESIDE; i++) {
                const vf v = entries(row, i);
                const vi size = (vi)(v * of_rows[row]) & 0x7fffffff;
                total[i] += v, most[i] = size > most[i] ? size : most[i];
            }
        }
        for (int i = 0; i < BESIDE; i++) {
            const int64_t at = c + i * W, left = columns - at;
            inverse[i] = select((vf)most[i] > splat(Int8::SMALLEST), splat(127) / (vf)most[i], vf{});
            store(scales + at, (vf)most[i] / splat(127));
            if (sums) store(sums + at, load(sums + at, left) + total[i], left);
        }
        for (int64_t k = 0; k < words; k++)
            for (int i = 0; i < BESIDE; i++) {
                vf four[4];
#pragma GCC unroll 4
                for (int64_t row = 4 * k; row < 4 * k + 4; row++)
                    four[row - 4 * k] = row < n ? entries(row, i) * (inverse[i] * of_rows[row]) : vf{};
                store((float*)to + k * GROUP + i * W, (vf)rounded(four, place.chance(k, c + i * W)));
            }
    }
}

// For R rows and C registers of a panel: out += scale (sums - offset).
template <int R, int C>
INLINE void gradient_tile(int64_t words, const uint32_t* a, const uint32_t* panel, const float* scales, float* out,
                          int64_t out_m, int64_t left) {
    vi exact[R][C] = {};
    Int8::add(words, a, 1, GROUP, panel, exact);
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) {
        const vi offset = (vi)load((const float*)panel + words * PANEL + c * W);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            if (left <= c * W) continue;
            float* to = out + r * out_m + c * W;
            const vf sums = __builtin_convertvector(exact[r][c] - offset, vf);
            store(to, added_product(sums, splat(scales[r]), load(to, left - c * W)), left - c * W);
        }
    }
}

template <int R>
INLINE void gradient_rows(int64_t M, int64_t words, const uint32_t* a, const uint32_t* panel, const float* scales,
                          float* out, int64_t out_m, int64_t left) {
    constexpr int C = beside(R);
    const int64_t done = M / R * R;
    for (int64_t c = 0; c < PANEL && c < left; c += C * W)
        for (int64_t m = 0; m < done; m += R)
            gradient_tile<R, C>(words, a + m, panel + c, scales + m, out + m * out_m + c, out_m, left - c);
    if constexpr (R > 1)
        gradient_rows<R - 1>(M - done, words, a + done, panel, scales + done, out + done * out_m, out_m, left);
}

// Up to SUMMED columns of g and of x.
template <class T>
static void gradient_part(const T* g, int64_t g_n, int64_t height, const uint32_t* rows, int64_t stride, int64_t width,
                          const float* of_rows, int64_t N, Place place, float* out, int64_t out_m,
                          float* sums) {
    Scratch own((SUMMED / 4 + 1) * (SUMMED + GROUP) * 2 + SUMMED + GROUP);
    float* scales = own.of(SUMMED + GROUP);
    uint32_t* left = own.of<uint32_t>(SUMMED / 4 * (SUMMED + GROUP));
    uint32_t* right = own.of<uint32_t>((SUMMED / 4 + 1) * SUMMED);
    for (int64_t i = 0; i < height; i++) memset(out + i * out_m, 0, width * sizeof(float));
    for (int64_t r = 0; r < N; r += SUMMED) {
        const int64_t n = N - r < SUMMED ? N - r : SUMMED, words = (n + 3) / 4;
        place.row = r;
        gradient_together(g + r * g_n, g_n, of_rows + r, n, height, place, left, scales, sums);
        rows_together(rows + r * stride, stride, n, width, right);
        for (int64_t j = 0; j < width; j += PANEL)
            for (int64_t i = 0; i < height; i += GROUP)
                gradient_rows<ROWS>(height - i < GROUP ? height - i : GROUP, words, left + i * words,
                                    right + j * (words + 1), scales + i, out + i * out_m + j, out_m, width - j);
    }
}

template <class T>
static void byte_weight_gradient(const T* g, int64_t g_n, const uint32_t* rows, int64_t N, int64_t e, int64_t d,
                                 int64_t seed, float* out, float* sums, int threads) {
    const int64_t stride = Int8::inputs(d), share = padded((e + threads - 1) / threads);
    const auto part = [](int64_t left) { return left < SUMMED ? left : SUMMED; };
    memset(sums, 0, e * sizeof(float));
    const Scratch of_rows(N);
    for (int64_t n = 0; n < N; n++) memcpy(of_rows + n, rows + n * stride + Int8::depth(d), sizeof(float));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < threads; t++) {
        const int64_t end = (t + 1) * share < e ? (t + 1) * share : e;
        for (int64_t i = t * share; i < end; i += SUMMED)
            for (int64_t j = 0; j < d; j += SUMMED)
                gradient_part(g + i, g_n, part(end - i), rows + j / 4, stride, part(d - j), of_rows, N,
                              Place{seed, 0, i, e}, out + i * d + j, d, j ? nullptr : sums + i);
    }
}
