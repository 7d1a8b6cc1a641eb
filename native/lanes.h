// Vectors of W floats, the widest register of the target processor.
//
// Every kernel is written once with these vectors and compiled for each processor level (see system/native.py). GCC and Clang
// translate vector types to AVX-512, AVX2, SSE2 or NEON instructions. The C++ standard library is not used: the linker
// could keep an inline function that was compiled here for AVX-512, for all callers.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

#define INLINE static inline __attribute__((always_inline))

// Shuffle indices that interleave the first halves, or the second halves, of two vectors.
#if defined(__AVX512F__)
#if defined(__AMX_TILE__)
#define LEVEL amx
#elif defined(__AVX512BF16__)
#define LEVEL avx512bf16
#elif defined(__AVX512VNNI__)
#define LEVEL avx512vnni
#else
#define LEVEL avx512
#endif
#define FIRST_HALVES 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define SECOND_HALVES 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
constexpr int W = 16;
#elif defined(__AVX2__)
#ifdef __AVXVNNI__
#define LEVEL avxvnni
#else
#define LEVEL avx2
#endif
#define FIRST_HALVES 0, 8, 1, 9, 2, 10, 3, 11
#define SECOND_HALVES 4, 12, 5, 13, 6, 14, 7, 15
constexpr int W = 8;
#else
#define LEVEL baseline
#define FIRST_HALVES 0, 4, 1, 5
#define SECOND_HALVES 2, 6, 3, 7
constexpr int W = 4;
#endif
#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (vi){__VA_ARGS__})
#endif

typedef float vf __attribute__((vector_size(4 * W)));
typedef int32_t vi __attribute__((vector_size(4 * W)));
typedef uint32_t vu __attribute__((vector_size(4 * W)));
typedef uint16_t vh __attribute__((vector_size(2 * W)));
typedef uint8_t vb __attribute__((vector_size(W)));

struct bf16 {
    uint16_t bits;
};

// x - 0 is x for every x, which x + 0 is not for -0: the compiler removes the subtraction.
INLINE vf splat(float x) { return x - vf{}; }
INLINE vf select(vi which, vf yes, vf no) { return which ? yes : no; }
// Propagates a NaN in b. This form compiles to one instruction.
INLINE vf maximum(vf a, vf b) { return a > b ? a : b; }

// a b + c, always rounded the same way (fused or not): with plain operators, the compiler may choose differently for
// each row.
#if defined(__AVX512F__)
INLINE vf added_product(vf a, vf b, vf c) { return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
#elif defined(__AVX2__)
INLINE vf added_product(vf a, vf b, vf c) { return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
#else
INLINE vf added_product(vf a, vf b, vf c) { return a * b + c; }
#endif

INLINE vi lanes() {
    vi n{};
    for (int i = 0; i < W; i++) n[i] = i;
    return n;
}

// Reductions: the sum, or the largest, of all lanes.
INLINE float sum(vf v) {
#ifdef __AVX512F__
    return _mm512_reduce_add_ps((__m512)v);
#else
    for (int n = 1; n < W; n *= 2) v = SHUFFLE(v, v, FIRST_HALVES) + SHUFFLE(v, v, SECOND_HALVES);
    return v[0];
#endif
}

INLINE float largest(vf v) {
    for (int n = 1; n < W; n *= 2)
        v = maximum(SHUFFLE(v, v, FIRST_HALVES), SHUFFLE(v, v, SECOND_HALVES));
    return v[0];
}

// A mask with one bit per lane.
INLINE uint32_t bits(vi which) {
#if defined(__AVX512F__)
    return _mm512_movepi32_mask((__m512i)which);
#elif defined(__AVX2__)
    return (uint32_t)_mm256_movemask_ps((__m256)which);
#else
    uint32_t found = 0;
    for (int i = 0; i < W; i++) found |= ((uint32_t)which[i] & 1) << i;
    return found;
#endif
}
