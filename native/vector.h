// The vocabulary of all kernels: vectors (lanes.h), loads and stores (memory.h), and here int8 products, functions and
// dropout.
#pragma once
#include "memory.h"

// sums + the dot products of a's four bytes with each lane's four signed bytes, none of which is -128. A byte of a is
// an int8 number plus ZERO.
#if defined(__AVX2__) && !defined(__AVX512F__) && !defined(__AVXVNNI__)
constexpr int ZERO = 0;
INLINE vi dot(vi sums, uint32_t a, vi bytes) {
    // |b| (sign(b) a): the sum of two products of at most 127 * 127 fits into 16 bits; with 255 * 127 it would not.
    const __m256i b = (__m256i)bytes, x = _mm256_set1_epi32((int)a);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(b), _mm256_sign_epi8(x, b));
    return sums + (vi)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
#else
constexpr int ZERO = 128;
INLINE vi dot(vi sums, uint32_t a, vi bytes) {
#if defined(__AVX512VNNI__)
    return (vi)_mm512_dpbusd_epi32((__m512i)sums, _mm512_set1_epi32((int)a), (__m512i)bytes);
#elif defined(__AVXVNNI__)
    return (vi)_mm256_dpbusd_avx_epi32((__m256i)sums, _mm256_set1_epi32((int)a), (__m256i)bytes);
#elif defined(__AVX512F__)
    // Bytes 0 and 2, then 1 and 3, as 16-bit numbers, whose products are added in pairs.
    const vi even = (vi)(vu{} + (a & 0x00ff00ffu)), odd = (vi)(vu{} + (a >> 8 & 0x00ff00ffu));
    const __m512i b = (__m512i)bytes;
    sums += (vi)_mm512_madd_epi16((__m512i)even, _mm512_srai_epi16(_mm512_slli_epi16(b, 8), 8));
    return sums + (vi)_mm512_madd_epi16((__m512i)odd, _mm512_srai_epi16(b, 8));
#elif defined(__wasm_simd128__)
    // The same with a quarter of the lanes.
    const v128_t even = wasm_i32x4_splat((int)(a & 0x00ff00ffu)), odd = wasm_i32x4_splat((int)(a >> 8 & 0x00ff00ffu));
    const v128_t b = (v128_t)bytes;
    sums += (vi)wasm_i32x4_dot_i16x8(even, wasm_i16x8_shr(wasm_i16x8_shl(b, 8), 8));
    return sums + (vi)wasm_i32x4_dot_i16x8(odd, wasm_i16x8_shr(b, 8));
#else
    for (int byte = 0; byte < 4; byte++)
        sums += (int32_t)(a >> 8 * byte & 255) * ((vi)((vu)bytes << (24 - 8 * byte)) >> 24);
    return sums;
#endif
}
#endif

INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE int64_t padded(int64_t n) { return (n + W - 1) / W * W; }

// Scratch memory for this many floats, used whole or in up to 16 parts, each aligned to a register. (Separate
// allocations would be returned to the system again and again.)
struct Scratch {
    float *all, *next;

    explicit Scratch(int64_t floats) : all((float*)aligned_alloc(64, (floats / 16 + 17) * 64)), next(all) {}
    ~Scratch() { free(all); }
    operator float*() const { return all; }
    template <class T = float>
    T* of(int64_t n) {
        T* part = (T*)next;
        next += (n * sizeof(T) + 63) / 64 * 16;
        return part;
    }
};

// Transpose a square of W registers by interleaving rows log2 W times.
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

// The largest absolute value of n numbers; NaN if one is NaN or infinite. Without signs, numbers are ordered like the
// integers of their bits, so two bf16 numbers are compared at once.
INLINE float largest_size(vi most) {
#ifdef __AVX512F__
    const int32_t bits = _mm512_reduce_max_epi32((__m512i)most);
#else
    int32_t bits = 0;
    for (int i = 0; i < W; i++) bits = most[i] > bits ? most[i] : bits;
#endif
    float found;
    __builtin_memcpy(&found, &bits, sizeof found);
    return found + (found - found);
}
template <class T>
INLINE float largest_size(const T* p, int64_t n, vi most = vi{}) {
    for (int64_t i = 0; i < n; i += W) {
        const vi size = (vi)load(p + i, n - i) & 0x7fffffff;
        most = size > most ? size : most;
    }
    return largest_size(most);
}
INLINE float largest_size(const bf16* p, int64_t n) {
    typedef int16_t pairs __attribute__((vector_size(4 * W)));
    pairs most{};
    int64_t i = 0;
    for (; i + 2 * W <= n; i += 2 * W) {
        pairs size;
        __builtin_memcpy(&size, p + i, sizeof size);
        size &= 0x7fff;
        most = size > most ? size : most;
    }
    const vi first = (vi)most << 16, second = (vi)most & (int32_t)0xffff0000;
    return largest_size<bf16>(p + i, n - i, first > second ? first : second);
}

// --- functions ---------------------------------------------------------------------------------------

// e^x to 2 units in the last place: 2^n e^r with |r| <= ln 2 / 2, e^r by its Taylor series to r^6 / 720;
// 0 below -87. Propagates NaN.
INLINE vf exponential(vf x) {
    const vf bounded = select(x > splat(88.0f), splat(88.0f), x);
    const vf shifted = bounded * 1.44269504088896341f + 12582912.0f;  // 1.5 * 2^23: the sum is rounded to an integer
    const vf n = shifted - 12582912.0f;
    const vf r = bounded - n * 0.693359375f - n * -2.12194440e-4f;
    vf y = splat(1.0f / 720);
    y = y * r + 1.0f / 120;
    y = y * r + 1.0f / 24;
    y = y * r + 1.0f / 6;
    y = y * r + 0.5f;
    y = y * r + 1.0f;
    y = y * r + 1.0f;
    const vi power = ((vi)shifted - 0x4b400000 + 127) << 23;
    return (vf)((vi)(y * (vf)power) & ~(x < splat(-87.0f)));
}

// e^x for x <= 0 to the precision of T. For bf16: 2^n 2^r with |r| <= 1 / 2, 2^r to 3e-6 by the minimax polynomial of
// degree 4, in two thirds of the instructions. 0 below -87. Propagates NaN.
template <class T>
INLINE vf decay(vf x) {
    if constexpr (sizeof(T) == 4) return exponential(x);
    const vf t = x * 1.44269504f, shifted = t + 12582912.0f, r = t - (shifted - 12582912.0f);
    vf y = r * 0.00957010128f + 0.0559178628f;
    y = y * r + 0.240247443f;
    y = y * r + 0.693121791f;
    y = y * r + 0.999999285f;
    return (vf)(((vu)y + ((vu)shifted << 23)) & (vu) ~(x < splat(-87.0f)));
}

// --- dropout -----------------------------------------------------------------------------------------

// The dropout mask is a function of (seed, position): nothing is stored for the backward pass, and it does not depend
// on the number of threads. A random byte below `dropped` drops its element.
struct Dropout {
    uint32_t low, high;
    uint32_t dropped;
    float scale;
};

INLINE Dropout dropout_of(int64_t seed, int64_t dropped) {
    return {(uint32_t)seed, (uint32_t)(seed >> 32), (uint32_t)dropped, 256.0f / (float)(256 - dropped)};
}

// A 32-bit mixing function of two rounds with low bias (C. Wellons, "Hash function prospector").
INLINE vu mixed(vu x) {
    x ^= x >> 16;
    x *= 0x21f0aaadu;
    x ^= x >> 15;
    x *= 0x735a2d97u;
    return x ^ (x >> 15);
}

constexpr int DROP = 64;

// The dropout factors, 0 or 1 / (1 - p), of elements [block * 64, block * 64 + 64) of a call.
INLINE void drop_factors(const Dropout& drop, int64_t block, float* factors) {
    for (int lane = 0; lane < 16; lane += W) {
        vu counter = (vu)lanes() + (uint32_t)(block * 16 + lane);
        vu bits = mixed(mixed(counter ^ drop.low) + drop.high);
        for (int byte = 0; byte < 4; byte++) {
            vi kept = (vi)((bits >> (8 * byte)) & 255) >= (int32_t)drop.dropped;
            store(factors + 16 * byte + lane, (vf)((vi)splat(drop.scale) & kept));
        }
    }
}

// Blocks of 64 per row; each row begins a new block.
INLINE int64_t drop_blocks(int64_t columns) { return (columns + DROP - 1) / DROP; }
