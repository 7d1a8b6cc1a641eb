// Loads and stores of vectors in float32 and bf16: full or partial vectors, through the caches or past them.
#pragma once
#include "lanes.h"

#ifdef __AVX512F__
// GCC compiles the general form to several instructions.
INLINE vf widen(vh h) { return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)h), 16); }
#else
INLINE vf widen(vh h) { return (vf)(__builtin_convertvector(h, vu) << 16); }
#endif

// Round to nearest, ties to even; propagates NaN.
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

// Non-temporal stores, for outputs larger than the caches: a cache line that is written whole need not be read first. p
// is aligned to the register. Call `streamed` before another thread reads the data.
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

// Partial loads and stores of the first n lanes; the others are 0.
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

// Stores of scattered cache lines of training outputs. On processors with AMX, whose L3 cache is slow, full lines are
// written by non-temporal stores, so that none is read first: attention takes 0.85 of its time. (Sequential lines gain
// nothing.) The barrier after a parallel loop makes them visible to other threads.
#ifdef __AMX_TILE__
INLINE bool lined_up(const void* p, int64_t bytes) { return ((uintptr_t)p | bytes) % 64 == 0; }
#else
INLINE bool lined_up(const void*, int64_t) { return false; }
#endif
template <class T>
INLINE void hand_on(T* p, vf v, int64_t n, bool past) {
    past ? stream(p, v) : store(p, v, n);
}

// Prefetch sequential reads. The hardware prefetcher does not run far enough ahead if the L3 cache is slow.
template <class T>
INLINE void expect(const T* p) {
    __builtin_prefetch((const char*)p + 2048);
}
