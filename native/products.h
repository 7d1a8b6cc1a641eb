// Matrix products: small ones for attention, and those of layers with packed weights.
#pragma once
#include "tiles.h"
#include "vector.h"

// --- small products ----------------------------------------------------------------------------------

// An R x (C W) tile of out = [out +] A B, with A[m, k] at a[m * a_m + k * a_k]. Dependent additions are latency-bound
// (8x); small tiles use four accumulators per sum.
template <int R, int C, class B>
INLINE void tile(int64_t K, const float* a, int64_t a_m, int64_t a_k, const B* b, int64_t b_k, float* out,
                 int64_t out_m, bool add) {
    constexpr int PARTS = R * C <= 2 ? 4 : 1;
    vf sums[PARTS][R][C] = {};
    for (int r = 0; r < R && add; r++)
        for (int c = 0; c < C; c++) sums[0][r][c] = load(out + r * out_m + c * W);
    const auto one = [&](int64_t k, vf(&part)[R][C]) {
        vf row[C];
        for (int c = 0; c < C; c++) row[c] = load(b + k * b_k + c * W);
        for (int r = 0; r < R; r++) {
            vf x = splat(a[r * a_m + k * a_k]);
            for (int c = 0; c < C; c++) part[r][c] += x * row[c];
        }
    };
    int64_t k = 0;
    for (; k + PARTS <= K; k += PARTS)
        for (int p = 0; p < PARTS; p++) one(k + p, sums[p]);
    for (; k < K; k++) one(k, sums[0]);
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) {
            for (int p = 1; p < PARTS; p++) sums[0][r][c] += sums[p][r][c];
            store(out + r * out_m + c * W, sums[0][r][c]);
        }
}

constexpr int TALLEST = W == 16 ? 8 : 6;  // rows of a tile whose sums and operands fit into registers

// Tiles of equal height, or one row less: a low remainder tile would take as long as a tall one.
template <int C, int R = TALLEST, class B>
INLINE void columns(int64_t M, int64_t tiles, int64_t K, const float* a, int64_t a_m, int64_t a_k, const B* b,
                    int64_t b_k, float* out, int64_t out_m, bool add) {
    for (; M > (R - 1) * tiles; tiles--, M -= R, a += R * a_m, out += R * out_m)
        tile<R, C>(K, a, a_m, a_k, b, b_k, out, out_m, add);
    if constexpr (R > 1) columns<C, R - 1>(M, tiles, K, a, a_m, a_k, b, b_k, out, out_m, add);
}

// out (M, N) = [out +] A (M, K) B (K, N); N a multiple of W.
template <class B>
static void product(int64_t M, int64_t N, int64_t K, const float* a, int64_t a_m, int64_t a_k, const B* b,
                    int64_t b_k, float* out, int64_t out_m, bool add) {
    const int64_t tiles = (M + TALLEST - 1) / TALLEST;
    int64_t n = 0;
    for (; n + 2 * W <= N; n += 2 * W) columns<2>(M, tiles, K, a, a_m, a_k, b + n, b_k, out + n, out_m, add);
    for (; n < N; n += W) columns<1>(M, tiles, K, a, a_m, a_k, b + n, b_k, out + n, out_m, add);
}

// --- x W^T + b with packed weights -------------------------------------------------------------------

// A weight (out, in) is packed into panels of 64 outputs, each stored input by input, so that a product reads it
// sequentially: float32 [panel][in][64], bf16 [panel][in / 2][64][2], int8 [panel][in / 4][64][4]. The innermost axis
// holds the inputs that one instruction takes. Outputs and inputs are zero-padded. An int8 panel ends with each
// output's scale and 128 times the sum of its bytes.
constexpr int64_t PANEL = 64;

// Rows of a tile, and registers of sums per row: together with a row of the panel and an input, they must fit into 32
// registers of 16 floats, or 16 smaller ones. Few rows take more columns, because dependent additions are
// latency-bound (4x).
constexpr int ROWS = 6;
constexpr int beside(int rows) { return W == 16 ? 4 : rows == 1 ? 8 : rows == 2 ? 4 : 2; }

struct Linear {
    const uint32_t* weight;
    const float* bias;      // or null
    int64_t in, out, relu;  // relu: whether max(0, x) follows
};

// sums += R rows of n float32 numbers times the panel that `column` loads.
template <int R, int C, class Column>
INLINE void multiply_floats(int64_t n, const float* a, int64_t a_m, vf (&sums)[R][C], const Column& column) {
    for (int64_t k = 0; k < n; k++) {
        vf row[C];
        for (int c = 0; c < C; c++) row[c] = column(k, c * W);
        for (int r = 0; r < R; r++) {
            const vf x = splat(a[r * a_m + k]);
            for (int c = 0; c < C; c++) sums[r][c] += x * row[c];
        }
    }
}

struct Fp32 {
    static constexpr bool TILED = false;  // whether matrix registers support it
    typedef float Element;                // format of key/value caches
    typedef float Input;
    static constexpr bool ROUNDS = false;  // whether inputs are rounded to Element before the product
    // Words per output of a panel, and Inputs per row.
    static int64_t words(int64_t in) { return in; }
    static int64_t inputs(int64_t in) { return in; }
    INLINE void convert(const float* x, int64_t in, Input* to) {
        for (int64_t i = 0; i < in; i++) to[i] = x[i];
    }
    template <int R, int C>
    INLINE void multiply(int64_t in, const Input* a, int64_t a_m, const uint32_t* panel, vf (&sums)[R][C]) {
        const auto column = [&](int64_t k, int64_t c) { return load((const float*)panel + k * PANEL + c); };
        multiply_floats(in, a, a_m, sums, column);
    }
};

struct Bf16 {
    static constexpr bool TILED = true;
    typedef bf16 Element;
    static int64_t words(int64_t in) { return (in + 1) / 2; }
#if defined(__AVX512BF16__)
    // Inputs are also rounded to bf16; products are summed in float32.
    static constexpr bool ROUNDS = true;
    typedef uint32_t Input;
    static int64_t inputs(int64_t in) { return words(in); }
    INLINE void convert(const float* x, int64_t in, Input* to) {
        to[in / 2] = 0;
        for (int64_t i = 0; i < in; i += W) store((bf16*)to + i, load(x + i, in - i), in - i);
    }
    template <int R, int C>
    INLINE void multiply(int64_t in, const Input* a, int64_t a_m, const uint32_t* panel, vf (&sums)[R][C]) {
        for (int64_t k = 0; k < words(in); k++) {
            __m512bh column[C];
            for (int c = 0; c < C; c++) column[c] = (__m512bh)_mm512_loadu_si512(panel + k * PANEL + c * W);
            for (int r = 0; r < R; r++) {
                const __m512bh pair = (__m512bh)_mm512_set1_epi32((int)a[r * a_m + k]);
                for (int c = 0; c < C; c++)
                    sums[r][c] = (vf)_mm512_dpbf16_ps((__m512)sums[r][c], column[c], pair);
            }
        }
    }
#ifdef __AMX_TILE__
    static int64_t depth(int64_t in) { return words(in); }
    template <int SUMS, int A, int B>
    INLINE void tile_dot() {
        tile_dot_bf16<SUMS, A, B>();
    }
    INLINE vf number(vi sums, int64_t, const Input*, const uint32_t*) { return (vf)sums; }
#endif
#else
    static constexpr bool ROUNDS = false;
    typedef float Input;
    static int64_t inputs(int64_t in) { return 2 * words(in); }
    INLINE void convert(const float* x, int64_t in, Input* to) {
        to[inputs(in) - 1] = 0;
        for (int64_t i = 0; i < in; i++) to[i] = x[i];
    }
    template <int R, int C>
    INLINE void multiply(int64_t in, const Input* a, int64_t a_m, const uint32_t* panel, vf (&sums)[R][C]) {
        multiply_floats(inputs(in), a, a_m, sums, [&](int64_t k, int64_t c) {
            const vu pairs = (vu)load((const float*)panel + k / 2 * PANEL + c);
            return (vf)(k % 2 ? pairs & 0xffff0000u : pairs << 16);
        });
    }
#endif
};

// Weights are int8 with a scale per output, inputs int8 with a scale per row, stored in the row; sums are exact. (Most
// instructions take unsigned inputs: ZERO, 128, is added to them, and subtracted again through the sum of the weights.)
struct Int8 {
    static constexpr float SMALLEST = 1e-30f;  // a smaller maximum counts as 0: its scale would have no inverse
    static constexpr bool TILED = true, ROUNDS = false;
    typedef bf16 Element;
    typedef uint32_t Input;
    // Words that are multiplied; the scales follow.
    static int64_t depth(int64_t in) { return (in + 3) / 4; }
    static int64_t words(int64_t in) { return depth(in) + 2; }
    static int64_t inputs(int64_t in) { return depth(in) + 1; }
    template <class T>
    INLINE void convert(const T* x, int64_t in, Input* to) {
        const float highest = largest_size(x, in), scale = highest / 127;  // propagates NaN
        const float inverse = highest > SMALLEST ? 127 / highest : 0;
        uint8_t* bytes = (uint8_t*)to;
        to[depth(in) - 1] = 0;
        for (int64_t i = 0; i < in; i += W) {
            const vi whole = __builtin_convertvector(load(x + i, in - i) * inverse + 128.5f, vi) - (128 - ZERO);
            const vb narrow = __builtin_convertvector(whole, vb);
            if (in - i >= W)
                __builtin_memcpy(bytes + i, &narrow, W);
            else
                for (int64_t j = 0; i + j < in; j++) bytes[i + j] = narrow[j];
        }
        __builtin_memcpy(to + depth(in), &scale, sizeof scale);
    }
    // Dequantise a row's exact sums.
    INLINE vf number(vi exact, int64_t in, const Input* row, const uint32_t* panel) {
        const uint32_t *scales = panel + depth(in) * PANEL, *offsets = scales + PANEL;
        vi offset;
        float scale;
        __builtin_memcpy(&offset, offsets, sizeof offset);
        __builtin_memcpy(&scale, row + depth(in), sizeof scale);
        if (ZERO) exact -= offset;
        return __builtin_convertvector(exact, vf) * (load((const float*)scales) * scale);
    }
    // Sums of R rows' words, at a stride of a_k, times C registers of a panel's.
    template <int R, int C>
    INLINE void add(int64_t words, const Input* a, int64_t a_m, int64_t a_k, const uint32_t* panel, vi (&exact)[R][C]) {
        vi column[C];
        for (int64_t k = 0; k < words; k++) {
            for (int c = 0; c < C; c++) column[c] = (vi)load((const float*)panel + k * PANEL + c * W);
            for (int r = 0; r < R; r++)
                for (int c = 0; c < C; c++) exact[r][c] = dot(exact[r][c], a[r * a_m + k * a_k], column[c]);
        }
    }
    template <int R, int C>
    INLINE void multiply(int64_t in, const Input* a, int64_t a_m, const uint32_t* panel, vf (&sums)[R][C]) {
        vi exact[R][C] = {};
        add(depth(in), a, a_m, 1, panel, exact);
        for (int r = 0; r < R; r++)
            for (int c = 0; c < C; c++) sums[r][c] += number(exact[r][c], in, a + r * a_m, panel + c * W);
    }
#ifdef __AMX_TILE__
    template <int SUMS, int A, int B>
    INLINE void tile_dot() {
        tile_dot_bytes<SUMS, A, B>();
    }
#endif
};

// max(0, x) if the layer has a ReLU; this form propagates NaN.
INLINE vf followed(const Linear& w, vf x) { return w.relu ? select(x < vf{}, vf{}, x) : x; }

// A tile of R rows and C registers of a panel, from `column` on.
template <class Format, bool Streams, int R, int C, class T>
INLINE void linear_tile(const Linear& w, const typename Format::Input* a, int64_t a_m, const uint32_t* panel,
                        int64_t column, T* out, int64_t out_m) {
    vf sums[R][C];
    for (int c = 0; c < C; c++) {
        const int64_t left = w.out - column - c * W;
        const vf bias = w.bias && left > 0 ? load(w.bias + column + c * W, left) : vf{};
        for (int r = 0; r < R; r++) sums[r][c] = bias;
    }
    Format::template multiply<R, C>(w.in, a, a_m, panel, sums);
    for (int c = 0; c < C; c++) {
        const int64_t left = w.out - column - c * W;
        for (int r = 0; r < R && left > 0; r++) {
            T* to = out + r * out_m + column + c * W;
            const vf number = followed(w, sums[r][c]);
            Streams ? stream(to, number) : store(to, number, left);
        }
    }
}

// All rows times a panel: R rows at a time, then fewer.
template <class Format, bool Streams, int R, class T>
INLINE void linear_rows(int64_t M, const Linear& w, const typename Format::Input* a, int64_t a_m, int64_t p,
                        T* out, int64_t out_m) {
    constexpr int C = beside(R);
    const uint32_t* panel = w.weight + p * PANEL * Format::words(w.in);
    const int64_t done = M / R * R;
    for (int64_t c = 0; c < PANEL && p * PANEL + c < w.out; c += C * W)
        for (int64_t m = 0; m < done; m += R)
            linear_tile<Format, Streams, R, C>(w, a + m * a_m, a_m, panel + c, p * PANEL + c, out + m * out_m, out_m);
    if constexpr (R > 1)
        linear_rows<Format, Streams, R - 1>(M - done, w, a + done * a_m, a_m, p, out + done * out_m, out_m);
}

#ifdef __AMX_TILE__
// Up to 16 rows times one panel, on matrix registers.
template <class Format, bool Streams, class T>
INLINE void linear_tiles(int64_t rows, const Linear& w, const uint32_t* a, int64_t a_m, int64_t p, T* out,
                         int64_t out_m) {
    const uint32_t* panel = w.weight + p * PANEL * Format::words(w.in);
    alignas(64) vi sums[TILE_ROWS][PANEL / W];
    tile_sums<Format>(Format::depth(w.in), a, a_m, panel, sums);
    for (int c = 0; c < PANEL / W; c++) {
        const int64_t column = p * PANEL + c * W, left = w.out - column;
        if (left <= 0) return;
        const vf bias = w.bias ? load(w.bias + column, left) : vf{};
        for (int64_t r = 0; r < rows; r++) {
            const vf number = followed(w, Format::number(sums[r][c], w.in, a + r * a_m, panel + c * W) + bias);
            Streams ? stream(out + r * out_m + column, number) : store(out + r * out_m + column, number, left);
        }
    }
}
#endif

// Convert rows to a product's inputs.
template <class Format, class T>
INLINE void convert(int64_t M, const T* x, int64_t x_m, int64_t in, typename Format::Input* to) {
    for (int64_t m = 0; m < M; m++) Format::convert(x + m * x_m, in, to + m * Format::inputs(in));
}

// out (M, w.out) = a (M, w.in) W^T + b for panels from `first` up to `last`. A row's sums do not depend on M.
template <class Format, bool Streams = false, class T>
static void panels(int64_t M, const typename Format::Input* a, const Linear& w, T* out, int64_t out_m,
                   int64_t first, int64_t last) {
    const int64_t a_m = Format::inputs(w.in);
#ifdef __AMX_TILE__
    if constexpr (Format::TILED) {
        const TileShapesKept kept;
        for (int64_t begin = 0, rows, end; begin < M; begin = end) {
            rows = M - begin < TILE_ROWS ? M - begin : TILE_ROWS, end = begin + (M - begin) / rows * rows;
            tile_shapes(rows, Format::depth(w.in)).use();
            for (int64_t p = first; p < last; p++)
                for (int64_t m = begin; m < end; m += rows)
                    linear_tiles<Format, Streams>(rows, w, a + m * a_m, a_m, p, out + m * out_m, out_m);
        }
        return;
    }
#endif
    for (int64_t p = first; p < last; p++)
        linear_rows<Format, Streams, ROWS>(M, w, a, a_m, p, out, out_m);
}

INLINE int64_t panel_count(int64_t out) { return (out + PANEL - 1) / PANEL; }

// Apply a layer to x (M, in), giving (M, out), both in float32; `rows` has room for M rows of inputs.
template <class Format>
static void linear(int64_t M, const float* x, int64_t x_m, const Linear& w, float* out, int64_t out_m,
                   typename Format::Input* rows) {
    convert<Format>(M, x, x_m, w.in, rows);
    panels<Format>(M, rows, w, out, out_m, 0, panel_count(w.out));
}

constexpr int64_t BLOCK = 96;       // rows that stay in the L2 cache
constexpr int64_t LARGE = 1 << 20;  // outputs that would evict everything else from it

// The same for many rows: threads divide the panels, so that each keeps its part of a large weight in its cache.
template <class Format>
static void linear_shared(const float* x, const Linear& w, float* out, int64_t M, int threads) {
    const int64_t count = panel_count(w.out), share = (count + threads - 1) / threads;
    const bool streams = M * w.out >= LARGE && w.out % 16 == 0 && (uintptr_t)out % 64 == 0;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < threads; t++) {
        const Scratch memory(BLOCK * Format::inputs(w.in) + W);
        auto* rows = (typename Format::Input*)memory.all;
        const int64_t first = t * share, last = first + share < count ? first + share : count;
        for (int64_t m = 0; m < M; m += BLOCK) {
            const int64_t n = M - m < BLOCK ? M - m : BLOCK;
            convert<Format>(n, x + m * w.in, w.in, w.in, rows);
            float* to = out + m * w.out;
            streams ? panels<Format, true>(n, rows, w, to, w.out, first, last)
                    : panels<Format>(n, rows, w, to, w.out, first, last);
        }
        streamed();
    }
}
