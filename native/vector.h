// W floats at once, as the widest register of the processor that this file is compiled for holds them.
//
// Every kernel is written once, in terms of these vectors, and compiled for each level of processor (see
// native.py). GCC's and Clang's vector types become AVX-512, AVX2, SSE2 or NEON instructions by themselves.
// Nothing of the C++ library is used: an inline function of it, compiled here for AVX-512, could be the one
// that the linker keeps for everybody.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

// Two vectors as two halves of a pack of cards: interleave their first and their second halves.
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

// So written that nothing is added: x - 0 is x whatever it is, x + 0 is not.
INLINE vf splat(float x) { return x - vf{}; }
INLINE vf select(vi which, vf yes, vf no) { return which ? yes : no; }
// A NaN in b stays. So written it is one instruction.
INLINE vf maximum(vf a, vf b) { return a > b ? a : b; }

// a b + c, rounded once or twice whatever stands around it: elsewhere the compiler may decide it anew for each row.
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

// Fold the pack until every card is the sum, or the largest, of all.
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

// A bit for each lane.
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

// --- to and from memory ------------------------------------------------------------------------------

#ifdef __AVX512F__
// What GCC makes of the general form takes several instructions.
INLINE vf widen(vh h) { return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)h), 16); }
#else
INLINE vf widen(vh h) { return (vf)(__builtin_convertvector(h, vu) << 16); }
#endif

// Round to nearest, ties to even; NaN stays NaN.
#ifdef __AVX512BF16__
INLINE vh narrow(vf v) { return (vh)_mm512_cvtneps_pbh((__m512)v); }
#else
INLINE vh narrow(vf v) {
    vu u = (vu)v;
    vu rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    vi number = v == v;
    return __builtin_convertvector((rounded & (vu)number) | (0x7fc0 & ~(vu)number), vh);
}
#endif

#if defined(__AVX512F__)
INLINE vi widen(vb bytes) { return (vi)_mm512_cvtepu8_epi32((__m128i)bytes); }
#elif defined(__AVX2__)
INLINE vi widen(vb bytes) { return (vi)_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)bytes)); }
#else
INLINE vi widen(vb bytes) { return __builtin_convertvector(bytes, vi); }
#endif

INLINE vf load(const float* p) {
    vf v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
INLINE vf load(const bf16* p) {
    vh h;
    __builtin_memcpy(&h, p, sizeof h);
    return widen(h);
}
INLINE void store(float* p, vf v) { __builtin_memcpy(p, &v, sizeof v); }
INLINE void store(bf16* p, vf v) {
    vh h = narrow(v);
    __builtin_memcpy(p, &h, sizeof h);
}

// Past the caches, for what is larger than they are: a line that is written whole need not be read first. p is
// aligned to the register. `streamed` comes before anybody else reads it.
#if defined(__AVX512F__)
INLINE void stream(float* p, vf v) { _mm512_stream_ps(p, (__m512)v); }
INLINE void stream(bf16* p, vf v) { _mm256_stream_si256((__m256i*)p, (__m256i)narrow(v)); }
INLINE void streamed() { _mm_sfence(); }
#elif defined(__AVX2__)
INLINE void stream(float* p, vf v) { _mm256_stream_ps(p, (__m256)v); }
INLINE void stream(bf16* p, vf v) { store(p, v); }
INLINE void streamed() { _mm_sfence(); }
#else
INLINE void stream(float* p, vf v) { store(p, v); }
INLINE void stream(bf16* p, vf v) { store(p, v); }
INLINE void streamed() {}
#endif

// The first n of them only; the others are 0.
#ifdef __AVX512F__
INLINE uint16_t first_lanes(int64_t n) { return n < W ? (1 << (n > 0 ? n : 0)) - 1 : 0xffff; }
INLINE vf load(const float* p, int64_t n) { return (vf)_mm512_maskz_loadu_ps(first_lanes(n), p); }
INLINE vf load(const bf16* p, int64_t n) { return widen((vh)_mm256_maskz_loadu_epi16(first_lanes(n), p)); }
INLINE void store(float* p, vf v, int64_t n) {
    n < W ? _mm512_mask_storeu_ps(p, first_lanes(n), (__m512)v) : store(p, v);
}
INLINE void store(bf16* p, vf v, int64_t n) {
    n < W ? _mm256_mask_storeu_epi16(p, first_lanes(n), (__m256i)narrow(v)) : store(p, v);
}
INLINE vb load(const uint8_t* p, int64_t n) { return (vb)_mm_maskz_loadu_epi8(first_lanes(n), p); }
#else
template <class T>
INLINE vf load(const T* p, int64_t n) {
    if (n >= W) return load(p);
    T part[W] = {};
    for (int64_t i = 0; i < n; i++) part[i] = p[i];
    return load(part);
}
template <class T>
INLINE void store(T* p, vf v, int64_t n) {
    if (n >= W) return store(p, v);
    T part[W];
    store(part, v);
    for (int64_t i = 0; i < n; i++) p[i] = part[i];
}
INLINE vb load(const uint8_t* p, int64_t n) {
    vb bytes{};
    __builtin_memcpy(&bytes, p, n < W ? n : W);
    return bytes;
}
#endif

// Lines here and there of what training hands on. On processors with AMX, whose third cache is far away, they are
// written past the caches where they are written whole: none need be read before it is. Attention took 0.85 of its time.
// (One line after the other is no faster like that.) The barrier behind a parallel loop comes before anybody else reads
// them.
#ifdef __AMX_TILE__
INLINE bool lined_up(const void* p, int64_t bytes) { return ((uintptr_t)p | bytes) % 64 == 0; }
#else
INLINE bool lined_up(const void*, int64_t) { return false; }
#endif
template <class T>
INLINE void hand_on(T* p, vf v, int64_t n, bool past) {
    past ? stream(p, v) : store(p, v, n);
}

// What is read one line after the other, on its way from memory: processors do that by themselves, but not far enough
// ahead where the third cache is slow.
template <class T>
INLINE void expect(const T* p) {
    __builtin_prefetch((const char*)p + 2048);
}

// sums + the products of the four bytes of a with each lane's four signed bytes, none of which is -128. A byte of a is
// a number plus ZERO.
#if defined(__AVX2__) && !defined(__AVX512F__) && !defined(__AVXVNNI__)
constexpr int ZERO = 0;
INLINE vi dot(vi sums, uint32_t a, vi bytes) {
    // |b| sign(b) a: two products of 127 fit into 16 bits, where they are added, two of 255 would not.
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
    // Bytes 0 and 2, then 1 and 3, as numbers of 16 bits, whose products are added in pairs.
    const vi even = (vi)(vu{} + (a & 0x00ff00ffu)), odd = (vi)(vu{} + (a >> 8 & 0x00ff00ffu));
    const __m512i b = (__m512i)bytes;
    sums += (vi)_mm512_madd_epi16((__m512i)even, _mm512_srai_epi16(_mm512_slli_epi16(b, 8), 8));
    return sums + (vi)_mm512_madd_epi16((__m512i)odd, _mm512_srai_epi16(b, 8));
#else
    for (int byte = 0; byte < 4; byte++)
        sums += (int32_t)(a >> 8 * byte & 255) * ((vi)((vu)bytes << (24 - 8 * byte)) >> 24);
    return sums;
#endif
}
#endif

INLINE int64_t padded(int64_t n) { return (n + W - 1) / W * W; }

// Memory of one thread's own, aligned to a register.
INLINE float* scratch(int64_t floats) { return (float*)aligned_alloc(64, (size_t)(floats * 4 + 127) / 64 * 64); }

// A square of W registers turned round: their rows are interleaved log2 W times.
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

// The largest of n numbers without their signs, or NaN where one is none or has no end. Without a sign they are ordered
// as the whole numbers that their bits are, so that two of bf16 are compared at once.
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
// 0 below -87. NaN is passed on.
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

// e^x for x <= 0, as exactly as what is rounded to T can tell: 2^n 2^r with |r| <= 1 / 2, 2^r to 3 millionths by the
// polynomial of four degrees that is nearest; 0 below -87. NaN is passed on. Two thirds of the instructions.
template <class T>
INLINE vf decay(vf x) {
    if constexpr (sizeof(T) == 4) return exponential(x);
    const vf t = x * 1.44269504f, shifted = t + 12582912.0f, r = t - (shifted - 12582912.0f);
    vf y = r * 0.00957010128f + 0.0559178628f;
    y = y * r + 0.240247443f;
    y = y * r + 0.693121791f;
    y = y * r + 0.999999285f;
    return (vf)(((vi)y + ((vi)shifted << 23)) & ~(x < splat(-87.0f)));
}

// --- dropout -----------------------------------------------------------------------------------------

// Which elements are dropped is a function of (seed, place): nothing is stored for the backward pass, and
// the number of threads does not matter. A byte below `dropped` drops its element.
struct Dropout {
    uint32_t low, high;
    uint32_t dropped;
    float scale;
};

INLINE Dropout dropout_of(int64_t seed, int64_t dropped) {
    return {(uint32_t)seed, (uint32_t)(seed >> 32), (uint32_t)dropped, 256.0f / (float)(256 - dropped)};
}

// Two rounds of a mixing function of 32 bits with low bias (C. Wellons, "Hash function prospector").
INLINE vu mixed(vu x) {
    x ^= x >> 16;
    x *= 0x21f0aaadu;
    x ^= x >> 15;
    x *= 0x735a2d97u;
    return x ^ (x >> 15);
}

constexpr int DROP = 64;

// 0 or 1 / (1 - p) for elements [block * 64, block * 64 + 64) of everything that a call drops from.
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

// How many blocks of 64 a row takes; each row begins with a block of its own.
INLINE int64_t drop_blocks(int64_t columns) { return (columns + DROP - 1) / DROP; }
