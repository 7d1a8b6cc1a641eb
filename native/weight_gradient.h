// g^T x and 1^T g in float32, for g (N, e) and x (N, d) in bf16: the gradients of a linear layer's weights and bias.
//
// Both matrices are stored transposed with respect to the product, which halves the speed of PyTorch's. Here 320 rows
// at a time are packed for the matrix registers and stay in the L2 cache until every square of the gradient has used
// them. Sums do not depend on the number of threads.
#pragma once
#include "tile_layouts.h"

#ifdef __AMX_TILE__
constexpr int64_t CHUNK_ROWS = 320;     // rows of g and x at a time; a power of 2 would use few of the cache's sets
constexpr int64_t CHUNK_COLUMNS = 512;  // columns of each at a time: a MiB of sums
constexpr int64_t TILE = TILE_ROWS * DEEP, SQUARE = DEEP * DEEP;

// Pack (n, columns) into panels of 32 columns, where every 32 rows are two tiles: of words of two rows, or, if
// transposed, of columns, which are summed on the way.
template <bool Turned>
INLINE void lay_out(const bf16* x, int64_t stride, int64_t n, int64_t columns, bf16* panels, float* sums) {
    for (int64_t r = 0; r < n; r += DEEP)
        for (int64_t c = 0; c < columns; c += DEEP) {
            vf first[W], second[W], total[2] = {};
            for (int64_t i = 0, row = r; i < W; i++, row += 2) {
                first[i] = row < n ? words(x + row * stride + c) : vf{};
                second[i] = row + 1 < n ? words(x + (row + 1) * stride + c) : vf{};
                pair(first[i], second[i]);
                if (!Turned) continue;
                total[0] += (vf)((vu)first[i] << 16), total[1] += (vf)((vu)second[i] << 16);
                total[0] += (vf)((vu)first[i] & 0xffff0000u), total[1] += (vf)((vu)second[i] & 0xffff0000u);
            }
            if (Turned) turn_square(first), turn_square(second);
            for (int h = 0; Turned && h < 2; h++) store(sums + c + h * W, load(sums + c + h * W) + total[h]);
            bf16* to = panels + c * CHUNK_ROWS + r * DEEP;
            for (int i = 0; i < W; i++, to += DEEP) store_words(to, first[i]), store_words(to + TILE, second[i]);
        }
}

// 32 x 32 sums of n rows of two panels, added to `square` or started from 0. Tiles 0 to 3 hold sums, 4 and 5 the left
// factors, 6 and 7 the right ones.
INLINE void add_square(const bf16* a, const bf16* b, int64_t n, float* square, bool add) {
    constexpr int64_t BYTES = DEEP * sizeof(float);
    float* below = square + SQUARE / 2;
    if (add) {
        tile_load<0>(square, BYTES), tile_load<1>(square + W, BYTES);
        tile_load<2>(below, BYTES), tile_load<3>(below + W, BYTES);
    } else {
        tile_zero<0>(), tile_zero<1>(), tile_zero<2>(), tile_zero<3>();
    }
    for (int64_t r = 0; r < n; r += DEEP, a += 2 * TILE, b += 2 * TILE) {
        tile_load<4>(a, 64);
        tile_load<6>(b, 64), tile_dot_bf16<0, 4, 6>();
        tile_load<7>(b + TILE, 64), tile_dot_bf16<1, 4, 7>();
        tile_load<5>(a + TILE, 64), tile_dot_bf16<2, 5, 6>(), tile_dot_bf16<3, 5, 7>();
    }
    tile_store<0>(square, BYTES), tile_store<1>(square + W, BYTES);
    tile_store<2>(below, BYTES), tile_store<3>(below + W, BYTES);
}

// Up to 512 columns of g and of x, multiples of 32.
static void weight_gradient_part(const bf16* g, int64_t g_n, int64_t height, const bf16* x, int64_t x_n, int64_t width,
                                 int64_t N, float* out, int64_t out_m, float* sums, float* memory) {
    bf16 *left = (bf16*)memory, *right = left + CHUNK_ROWS * CHUNK_COLUMNS;
    float* squares = memory + CHUNK_ROWS * CHUNK_COLUMNS;
    memset(sums, 0, height * sizeof(float));
    for (int64_t r = 0; r < N; r += CHUNK_ROWS) {
        const int64_t n = N - r < CHUNK_ROWS ? N - r : CHUNK_ROWS;
        lay_out<true>(g + r * g_n, g_n, n, height, left, sums);
        lay_out<false>(x + r * x_n, x_n, n, width, right, nullptr);
        float* square = squares;
        for (int64_t i = 0; i < height; i += DEEP)
            for (int64_t j = 0; j < width; j += DEEP, square += SQUARE)
                add_square(left + i * CHUNK_ROWS, right + j * CHUNK_ROWS, n, square, r > 0);
    }
    const bool past = lined_up(out, out_m * sizeof(float));
    for (int64_t i = 0; i < height; i++)
        for (int64_t j = 0; j < width; j += W) {
            const vf found = load(squares + (i / DEEP * width + j / DEEP * DEEP + i % DEEP) * DEEP + j % DEEP);
            past ? stream(out + i * out_m + j, found) : store(out + i * out_m + j, found);
        }
}

static void weight_gradient(const bf16* g, int64_t g_n, const bf16* x, int64_t x_n, int64_t N, int64_t e, int64_t d,
                            float* out, float* sums, int threads) {
    const int64_t share = (e / DEEP + threads - 1) / threads * DEEP;
    const auto part = [](int64_t left) { return left < CHUNK_COLUMNS ? left : CHUNK_COLUMNS; };
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < threads; t++) {
        const int64_t end = (t + 1) * share < e ? (t + 1) * share : e;
        const WholeTiles tiles;
        const Scratch memory((CHUNK_ROWS + CHUNK_COLUMNS) * CHUNK_COLUMNS);
        for (int64_t i = t * share; i < end; i += CHUNK_COLUMNS)
            for (int64_t j = 0; j < d; j += CHUNK_COLUMNS)
                weight_gradient_part(g + i, g_n, part(end - i), x + j, x_n, part(d - j), N, out + i * d + j, d, sums + i,
                                     memory);
    }
}
#endif
