// Gradients of an output layer's cross-entropy from a sparse, unbiased sample of the logits' gradient.
//
// g = softmax - q has V entries per row. dh = g W and dW = g^T h are two thirds of the output layer's products, though
// nearly all of g is close to 0. Here an entry smaller than a grain is rounded at random to 0 or to a grain of its
// sign, which keeps its mean. A few per cent of the entries remain, and only these are multiplied. Like dropout, the
// choice is a function of (seed, position), for any number of threads.
#pragma once
#include "cross_entropy.h"

struct Entry {
    int32_t at;  // the column; once sorted by columns, the row
    float value;
};

constexpr int64_t AHEAD = 6;  // prefetch distance in entries: about the latency of a row in the L3 cache

// out (d) = [out +] the sum of value * matrix[at] over n entries: C registers at a time, then fewer.
template <int C, bool Adds, class T, class Out>
INLINE void weighted_sum(const Entry* entries, int64_t n, const T* matrix, int64_t d, int64_t column, Out* out) {
    for (; column + C * W <= d; column += C * W) {
        vf sums[C] = {};
        for (int64_t k = 0; k < n; k++) {
            const T* row = matrix + entries[k].at * d + column;
            const T* later = matrix + entries[k + AHEAD < n ? k + AHEAD : k].at * d + column;
            const vf value = splat(entries[k].value);
            for (int c = 0; c < C; c++) {
                if (c * W * sizeof(T) % 64 == 0) __builtin_prefetch(later + c * W);
                sums[c] += value * load(row + c * W);
            }
        }
        for (int c = 0; c < C; c++)
            store(out + column + c * W, Adds ? sums[c] + load(out + column + c * W) : sums[c]);
    }
    if constexpr (C > 1) return weighted_sum<C / 2, Adds>(entries, n, matrix, d, column, out);
    for (; column < d; column += W) {
        vf rest = Adds ? load(out + column, d - column) : vf{};
        for (int64_t k = 0; k < n; k++)
            rest += splat(entries[k].value) * load(matrix + entries[k].at * d + column, d - column);
        store(out + column, rest, d - column);
    }
}

// Write the chosen columns contiguously and return their number. Up to W elements after them are overwritten.
INLINE int64_t compress(vi columns, vi chosen, int32_t* to) {
    uint32_t left = bits(chosen);
#ifdef __AVX512F__
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32((__mmask16)left, (__m512i)columns));
    return __builtin_popcount(left);
#else
    int64_t n = 0;
    for (; left; left &= left - 1) to[n++] = columns[0] + __builtin_ctz(left);
    return n;
#endif
}

constexpr int SUMS = 64;

// The columns of the entries of g = powers * inverse - uniform that remain, ascending; returns their number. Each of 64
// sums starts at random between 0 and 1 and accumulates the sizes, in grains, of every 64th entry. The entry that lifts
// it to 1 remains, and 1 is subtracted. So an entry's probability is its size (systematic sampling, Madow 1949), and a
// row needs 64 random numbers instead of V. Entries of at least a grain, and NaN, always remain.
static int64_t left_of(const float* powers, float inverse, float uniform, int64_t V, uint32_t seed, float grain,
                       int32_t* columns) {
    vf sums[SUMS / W];
    for (int i = 0; i < SUMS; i += W)
        sums[i / W] = (vf)(mixed((vu)lanes() + (uint32_t)i + seed) >> 9 | 0x3f800000u) - 1.0f;
    int64_t n = 0;
    for (int64_t c = 0; c < V; c += SUMS)
        for (int i = 0; i < SUMS; i += W) {
            const vf size = (vf)((vu)(load(powers + c + i) * (inverse / grain) - uniform / grain) & 0x7fffffffu);
            vf& sum = sums[i / W];
            const vi small = size < 1.0f;
            sum = select(small, sum + size, sum);
            const vi whole = sum >= 1.0f;
            sum = select(whole, sum - 1.0f, sum);
            n += compress(lanes() + (int32_t)(c + i), whole | ~small, columns + n);
        }
    while (n && columns[n - 1] >= V) n--;
    return n;
}

// Binary search: the first of ascending entries at or after this column.
static const Entry* from(const Entry* entry, const Entry* end, int64_t column) {
    while (entry < end) {
        const Entry* middle = entry + (end - entry) / 2;
        if (middle->at < column)
            entry = middle + 1;
        else
            end = middle;
    }
    return entry;
}

constexpr int64_t SHARES = 4;  // shares per thread: others take over some of a delayed thread's
constexpr int BESIDE = W == 16 ? 16 : 8;

// Overwrites the N rows of logits by their remaining entries, writes dh (N, d), adds to dw (V, d).
template <class T>
static void sampled_cross_entropy(T* logits, const int64_t* targets, double* sums, const T* h, const T* w, T* dh,
                                  float* dw, int64_t N, int64_t V, int64_t d, double smoothing, double grain,
                                  int64_t seed, int threads) {
    const int64_t share = (N + threads - 1) / threads, column_shares = SHARES * threads;
    const int64_t width = (V + column_shares - 1) / column_shares;
    const float uniform = (float)(smoothing / (double)V);
    struct Row {
        Entry* first;
        int64_t n;
    };
    Scratch memory(4 * N + 6 * threads);
    Row* rows = memory.of<Row>(N);
    double* parts = memory.of<double>(3 * threads);
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (int64_t t = 0; t < threads; t++) {
            Scratch own(2 * (V + SUMS) + W);
            float* powers = own.of(V + SUMS);
            int32_t* columns = own.of<int32_t>(V + SUMS + W);
            double its_sums[3] = {};
            Entry* next = (Entry*)(((uintptr_t)(logits + t * share * V) + 7) / 8 * 8);
            for (int64_t r = t * share; r < N && r < (t + 1) * share; r++) {
                const Softmax p = softmax(logits + r * V, V, targets[r], powers, its_sums);
                powers[targets[r]] -= (float)(1 - smoothing) * p.z;
                const int64_t room = (Entry*)(logits + (r + 1) * V) - next;
                const uint32_t of_row = mixed(mixed(vu{} + ((uint32_t)seed ^ (uint32_t)r)) + (uint32_t)(seed >> 32))[0];
                const float inverse = 1.0f / p.z;
                float g = (float)grain;
                int64_t n = left_of(powers, inverse, uniform, V, of_row, g, columns);
                for (; n > room && g < 1; g *= 2) n = left_of(powers, inverse, uniform, V, of_row, 2 * g, columns);
                if (n > room) n = room;  // with a grain of 1, more entries than this remain only if they are NaN
                for (int64_t k = 0; k < n; k++) {
                    const float x = powers[columns[k]] * inverse - uniform;
                    next[k] = {columns[k], fabsf(x) < g ? copysignf(g, x) : x};
                }
                weighted_sum<BESIDE, false>(next, n, w, d, 0, dh + r * d);
                rows[r] = {next, n};
                next += n;
            }
            memcpy(parts + 3 * t, its_sums, sizeof its_sums);
        }
        // Each share owns a range of columns. Its entries are sorted by column; a column sums some rows of h.
#pragma omp for schedule(dynamic)
        for (int64_t t = 0; t < column_shares; t++) {
            const int64_t first = t * width, count = first + width < V ? width : V - first;
            if (count <= 0) continue;
            Scratch counts(count + 1);
            int32_t* ends = counts.of<int32_t>(count + 1);
            memset(ends, 0, (count + 1) * sizeof(int32_t));
            const auto each = [&](auto&& take) {
                for (int64_t r = 0; r < N; r++) {
                    const Entry *entry = rows[r].first, *end = entry + rows[r].n;
                    for (entry = from(entry, end, first); entry < end && entry->at < first + count; entry++)
                        take(entry->at - first, r, entry->value);
                }
            };
            each([&](int64_t column, int64_t, float) { ends[column + 1]++; });
            for (int64_t c = 0; c < count; c++) ends[c + 1] += ends[c];
            Scratch entries(2 * ends[count]);
            Entry* sorted = entries.of<Entry>(ends[count]);
            each([&](int64_t column, int64_t r, float value) { sorted[ends[column]++] = {(int32_t)r, value}; });
            // Now ends[c] is the end of column c.
            for (int64_t c = 0, k = 0; c < count; k = ends[c++])
                if (ends[c] > k) weighted_sum<BESIDE, true>(sorted + k, ends[c] - k, h, d, 0, dw + (first + c) * d);
        }
    }
    add_parts(sums, parts, threads);
}
