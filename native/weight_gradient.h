// g^T x and 1^T g in float32, for g (N, e) and x (N, d) in bf16: a linear layer's gradient at its weights and its bias.
//
// Both matrices lie the wrong way round for a product; PyTorch's has half the speed of the others then. Here 256 rows at
// a time are laid out as the matrix registers want them and stay in the second cache until every square of the
// gradient has had its share. A sum does not depend on the number of threads.
#pragma once
#include "tile_layouts.h"

#ifdef __AMX_TILE__
constexpr int64_t CHUNK_ROWS = 256;                     // of g and x at a time
constexpr int64_t CHUNK_COLUMNS = 512;                  // of each: a MiB of sums
constexpr int64_t CHUNK_PANEL = CHUNK_ROWS * DEEP;  // numbers of 32 columns of a chunk
constexpr int64_t TILE = TILE_ROWS * DEEP;

// (n, columns) as panels of 32 columns, in which every 32 rows are two tiles: of words of two rows, or where they are
// turned round of columns, which are added up on the way.
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
            bf16* to = panels + c / DEEP * CHUNK_PANEL + r * DEEP;
            for (int i = 0; i < W; i++) store_words(to + i * DEEP, first[i]), store_words(to + TILE + i * DEEP, second[i]);
        }
}

// 32 x 32 sums of n rows of two panels, to what is there or to nothing.
INLINE void add_square(const bf16* a, const bf16* b, int64_t n, float* out, int64_t out_m, bool add) {
    const int64_t bytes = out_m * sizeof(float);
    float* below = out + TILE_ROWS * out_m;
    if (add) {
        tile_load<0>(out, bytes), tile_load<1>(out + W, bytes);
        tile_load<2>(below, bytes), tile_load<3>(below + W, bytes);
    } else {
        tile_zero<0>(), tile_zero<1>(), tile_zero<2>(), tile_zero<3>();
    }
    for (int64_t r = 0; r < n; r += DEEP, a += 2 * TILE, b += 2 * TILE) {
        tile_load<4>(a, 64);
        tile_load<6>(b, 64), tile_dot_bf16<0, 4, 6>();
        tile_load<7>(b + TILE, 64), tile_dot_bf16<1, 4, 7>();
        tile_load<5>(a + TILE, 64), tile_dot_bf16<2, 5, 6>(), tile_dot_bf16<3, 5, 7>();
    }
    tile_store<0>(out, bytes), tile_store<1>(out + W, bytes);
    tile_store<2>(below, bytes), tile_store<3>(below + W, bytes);
}

// The share of `columns` of g, at which both pointers to it stand already; e and d are multiples of 32.
static void weight_gradient_share(const bf16* g, int64_t g_n, int64_t columns, const bf16* x, int64_t x_n, int64_t N,
                                  int64_t d, float* out, float* sums) {
    const WholeTiles tiles;
    bf16 *left = (bf16*)scratch(CHUNK_ROWS * CHUNK_COLUMNS), *right = left + CHUNK_ROWS * CHUNK_COLUMNS;
    for (int64_t e0 = 0; e0 < columns; e0 += CHUNK_COLUMNS)
        for (int64_t d0 = 0; d0 < d; d0 += CHUNK_COLUMNS) {
            const int64_t height = columns - e0 < CHUNK_COLUMNS ? columns - e0 : CHUNK_COLUMNS;
            const int64_t width = d - d0 < CHUNK_COLUMNS ? d - d0 : CHUNK_COLUMNS;
            memset(sums + e0, 0, height * sizeof(float));
            for (int64_t r = 0; r < N; r += CHUNK_ROWS) {
                const int64_t n = N - r < CHUNK_ROWS ? N - r : CHUNK_ROWS;
                lay_out<true>(g + r * g_n + e0, g_n, n, height, left, sums + e0);
                lay_out<false>(x + r * x_n + d0, x_n, n, width, right, nullptr);
                for (int64_t i = 0; i < height; i += DEEP)
                    for (int64_t j = 0; j < width; j += DEEP)
                        add_square(left + i / DEEP * CHUNK_PANEL, right + j / DEEP * CHUNK_PANEL, n, out + (e0 + i) * d + d0 + j, d,
                                   r > 0);
            }
        }
    free(left);
}

static void weight_gradient(const bf16* g, int64_t g_n, const bf16* x, int64_t x_n, int64_t N, int64_t e, int64_t d,
                            float* out, float* sums, int threads) {
    const int64_t share = (e / DEEP + threads - 1) / threads * DEEP;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < threads; t++) {
        const int64_t first = t * share, columns = first + share < e ? share : e - first;
        if (columns > 0)
            weight_gradient_share(g + first, g_n, columns, x, x_n, N, d, out + first * d, sums + first);
    }
}
#endif
