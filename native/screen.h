// The largest entries of the output layer's W x + b (V x d, half of a decoder's arithmetic), most of it in bytes.
//
// Products of bytes say of every entry where it must lie: with x' and w' what bytes make of x and of a row w,
//     |w x - w' x'| <= |x - x'| |w'| + |x| |w - w'|                     (Cauchy and Schwarz)
// Only what may be among the largest is multiplied as it should be, some ten of thousands, so that the largest are
// exactly what they are. The sum of all powers, which is the normaliser, has those exactly and the others nearly.
#pragma once
#include "distribution.h"
#include "products.h"

template <class Format>
struct Screen {
    Linear bytes;
    const typename Format::Element* weight;  // (V, d), or no pointer: not in use
    const float* norms;                      // the largest |w'| and |w - w'|

    // What the products of Format are given, so that both multiply the same.
    void round(float* x) const {
        if (!Format::ROUNDS) return;
        typename Format::Element rounded[W];
        for (int64_t i = 0; i < bytes.in; i += W) {
            store(rounded, load(x + i, bytes.in - i));
            store(x + i, load(rounded), bytes.in - i);
        }
    }
    // How far from each other two entries of bytes may be whose order is the wrong one, and some for rounding.
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
    // A row's weights on their way to the cache.
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

// Entries this close to the largest are multiplied in full too: so likely that they matter to the normaliser.
constexpr float LIKELY = 3, LEAST = -3e38f;

// What search must know of a row of V scores.
struct Asked {
    int64_t V, eos, bans;
    const int64_t* banned;
};
struct Surveyed {
    float normaliser, end;  // log sum exp, NaN where there is no such thing; the score of the end
};

// `best` gets the largest that are not banned. Where there is a screen, the scores are those of bytes, and x is what
// they come of. `work` has room for two numbers for each score.
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
    if (!(floor > LEAST)) floor = LEAST;  // what is banned stays so
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
    const float end = row[asked.eos] >= floor ? row[asked.eos] : corrected(asked.eos);
    return {highest + logf(mass), end};
}
