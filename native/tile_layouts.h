// How matrices of bf16 are laid out for products on matrix registers.
//
// A product reads its left matrix row by row, two numbers of bf16 as a word, and its right one word by word: two rows
// interleaved ("paired"), or rows that stand beside each other as columns ("turned"). Everything is padded with zeros to
// whole tiles.
#pragma once
#include "tiles.h"

#ifdef __AMX_TILE__
constexpr int64_t DEEP = 2 * W;  // numbers of bf16 in a register

INLINE int64_t deep(int64_t n) { return (n + DEEP - 1) / DEEP * DEEP; }
INLINE vf words(const bf16* p) { return load((const float*)p); }
INLINE void store_words(bf16* p, vf words) { store((float*)p, words); }

// Two registers as bf16, one after the other.
INLINE __m512i narrow(vf first, vf second) { return (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first); }

// Two rows of 32 numbers become 32 words of one of each: the first 16, and the others.
INLINE void pair(vf& first, vf& second) {
    const __m512i halves = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);  // `unpack` takes every other four
    const __m512i a = _mm512_permutexvar_epi64(halves, (__m512i)first);
    const __m512i b = _mm512_permutexvar_epi64(halves, (__m512i)second);
    first = (vf)_mm512_unpacklo_epi16(a, b), second = (vf)_mm512_unpackhi_epi16(a, b);
}

// Eight whole tiles, and afterwards a thread's shapes as they were.
struct WholeTiles {
    const TileShapesKept before;
    WholeTiles() {
        TileShapes shapes;
        for (int t = 0; t < 8; t++) shapes.set(t, TILE_ROWS, TILE_WORDS);
        shapes.use();
    }
};
#endif
