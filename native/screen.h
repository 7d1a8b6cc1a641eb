// The top-k of an output layer W x + b (V x d, half of a decoder's arithmetic), screened in int8.
//
// int8 products bound every entry: with x' and w' the quantised x and a quantised row w,
//     |w x - w' x'| <= |x - x'| |w'| + |x| |w - w'|                     (Cauchy-Schwarz)
// Only the candidates for the top-k, some ten of thousands, are computed in full, so the top-k is exact. The normaliser
// uses exact values for them and int8 values for the others.
#pragma once
#include "distribution.h"
#include "products.h"

template <class Format>
struct Screen {
    Linear bytes;
    const typename Format::Element* weight;  // (V, d); null: no screening
    const float* norms;                      // the largest |w'| and the largest |w - w'|

    // Round x as the products of Format do, so that both use the same inputs.
    void round(float* x) const {
        if (!Format::ROUNDS) return;
        typename Format::Element rounded[W];
        for (int64_t i = 0; i < bytes.in; i += W) {
            store(rounded, load(x + i, bytes.in - i));
            store(x + i, load(rounded), bytes.in - i);
        }
    }
    // The largest difference of two int8 entries whose true order may be reversed, with a margin for rounding.
    float slack(const float* x) const {
        vf most{}, squares{}, lost{};
        for (int64_t i = 0; i < bytes.in; i += W) {
            const vf v = load(x + i, bytes.in - i);
            most = maximum(most, maximum(v, -v)), squares += v * v;
        }
        const float highest = largest(most), inverse = highest > 0 ? 127 / highest : 0;
        for (int64_t i = 0; i < bytes.in; i += W) {
            const vf v = load(x + i, bytes.in - i) * inverse + 128.5f;
            const vf off = v - 0.5f - __builtin_convertvector(__builtin_convertvector(v, vi), vf);
            lost += off * off;
        }
        const float error = sqrtf(sum(lost)) * highest / 127 * norms[0] + sqrtf(sum(squares)) * norms[1];
        return 2.02f * error;
    }
    // Prefetch a row of the weight.
    void expect(int64_t row) const {
        for (int64_t i = 0; i < bytes.in; i += 64 / sizeof(*weight)) __builtin_prefetch(weight + row * bytes.in + i);
    }
    float exact(const float* x, int64_t row) const {
        vf total{};
        const typename Format::Element* w = weight + row * bytes.in;
        for (int64_t i = 0; i < bytes.in; i += W) total += load(x + i, bytes.in - i) * load(w + i, bytes.in - i);
        return sum(total) + (bytes.bias ? bytes.bias[row] : 0.0f);
    }
};

// Entries this close to the maximum are also computed in full: they are probable enough to affect the normaliser.
constexpr float LIKELY = 3, LEAST = -3e38f;

// The query for a row of V scores: the end symbol and the banned tokens.
struct Asked {
    int64_t V, eos, bans;
    const int64_t* banned;
};
struct Surveyed {
    float normaliser, end;  // log-normaliser, NaN if undefined; the end symbol's logit
};

// Find the log-normaliser and the top-k without banned tokens (`best`) of a row. With a screen, the row holds int8
// scores of the input x. `work` has room for 2 V numbers.
template <class Format>
INLINE Surveyed survey(float* row, const Asked& asked, const Screen<Format>& screen, const float* x, float* work,
                       Largest best) {
    const int64_t V = asked.V;
    float *maxima = work, highest = -INFINITY;
    for (int64_t chunk = 0; chunk < chunk_count(V); chunk++) {
        maxima[chunk] = chunk_maximum(row, V, chunk);
        highest = maxima[chunk] > highest ? maxima[chunk] : highest;
    }
    float mass = powers(row, V, highest);
    for (int64_t b = 0; b < asked.bans; b++) {
        const int64_t banned = asked.banned[b];
        row[banned] = -INFINITY;
        maxima[banned / CHUNK] = chunk_maximum(row, V, banned / CHUNK);
    }
    float floor = floor_of(maxima, V, best);
    if (!screen.weight) {
        at_least(row, V, maxima, floor, [&](int64_t i) { best.offer(row[i], i); });
        best.fill();
        return {highest + logf(mass), row[asked.eos]};
    }
    floor -= screen.slack(x);
    if (highest - LIKELY < floor) floor = highest - LIKELY;
    if (!(floor > LEAST)) floor = LEAST;  // banned tokens stay excluded
    int32_t *chosen = (int32_t*)(work + V), count = 0;
    at_least(row, V, maxima, floor, [&](int64_t i) { screen.expect(i), chosen[count++] = (int32_t)i; });
    const auto corrected = [&](int64_t i) {
        const float exact = screen.exact(x, i);
        vf both = splat(-INFINITY);
        both[0] = exact - highest, both[1] = row[i] - highest;
        both = exponential(both);
        mass += both[0] - both[1];
        return row[i] = exact;
    };
    for (int64_t k = 0; k < count; k++) best.offer(corrected(chosen[k]), chosen[k]);
    best.fill();
    // -inf: banned for now
    const bool known = row[asked.eos] >= floor || row[asked.eos] == -INFINITY;
    const float end = known ? row[asked.eos] : corrected(asked.eos);
    return {highest + logf(mass), end};
}
