// Layouts of bf16 matrices for products on matrix registers.
//
// A product reads its left matrix row by row, two bf16 numbers as a word, and its right matrix word by word: with pairs
// of rows interleaved ("paired"), or transposed ("turned"). Everything is zero-padded to whole tiles.
#pragma once
#include "tiles.h"

#ifdef __AMX_TILE__
constexpr int64_t DEEP = 2 * W;  // bf16 numbers per register

INLINE int64_t deep(int64_t n) { return (n + DEEP - 1) / DEEP * DEEP; }
INLINE vf words(const bf16* p) { return load((const float*)p); }
INLINE void store_words(bf16* p, vf words) { store((float*)p, words); }

// Convert two registers to bf16 and concatenate them.
INLINE __m512i narrow(vf first, vf second) { return (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first); }

// Interleave two rows of 32 numbers into 32 words: the first 16, and the others.
INLINE void pair(vf& first, vf& second) {
    const __m512i halves = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);  // `unpack` works within 128-bit lanes
    const __m512i a = _mm512_permutexvar_epi64(halves, (__m512i)first);
    const __m512i b = _mm512_permutexvar_epi64(halves, (__m512i)second);
    first = (vf)_mm512_unpacklo_epi16(a, b), second = (vf)_mm512_unpackhi_epi16(a, b);
}

// Configures eight full tiles; the destructor restores the thread's previous configuration.
struct WholeTiles {
    const TileShapesKept before;
    WholeTiles() {
        TileShapes shapes;
        for (int t = 0; t < 8; t++) shapes.set(t, TILE_ROWS, TILE_WORDS);
        shapes.use();
    }
};
#endif
