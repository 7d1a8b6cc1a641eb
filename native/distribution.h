// The log-normaliser of a row of scores, and its top-k.
//
// The chunks' maxima are found first. They determine the chunks that can contain the top-k: about k of them, so almost
// all of the row is read only twice.
#pragma once
#include "vector.h"

constexpr int64_t CHUNK = 64;

INLINE int64_t chunk_count(int64_t V) { return (V + CHUNK - 1) / CHUNK; }

INLINE float chunk_maximum(const float* row, int64_t V, int64_t chunk) {
    const int64_t c = chunk * CHUNK;
    float highest = -INFINITY;
    if (V - c < CHUNK) {
        for (int64_t i = c; i < V; i++) highest = row[i] > highest ? row[i] : highest;
        return highest;
    }
    vf most = load(row + c);
    for (int64_t i = W; i < CHUNK; i += W) most = maximum(most, load(row + c + i));
    return largest(most);
}

// The sum of e^(x - highest); NaN if the row contains NaN, or only -inf.
INLINE float powers(const float* row, int64_t V, float highest) {
    const int64_t whole = V / W * W;
    vf mass{};
    for (int64_t i = 0; i < whole; i += W) mass += exponential(load(row + i) - highest);
    float total = sum(mass);
    for (int64_t i = whole; i < V; i++) total += expf(row[i] - highest);
    return total;
}

// The `room` largest of the offered entries, descending; ties keep their order.
struct Largest {
    float* values;
    int64_t *columns, room, count;

    void offer(float x, int64_t column) {
        if (count == room && !(x > values[room - 1])) return;
        int64_t place = count < room ? count++ : room - 1;
        for (; place > 0 && x > values[place - 1]; place--)
            values[place] = values[place - 1], columns[place] = columns[place - 1];
        values[place] = x, columns[place] = column;
    }
    void fill() {
        for (; count < room; count++) values[count] = -INFINITY, columns[count] = 0;
    }
};

// Call `take` with the column of every entry of at least `floor`.
template <class Take>
INLINE void at_least(const float* row, int64_t V, const float* maxima, float floor, const Take& take) {
    for (int64_t chunk = 0; chunk < chunk_count(V); chunk++)
        for (int64_t i = chunk * CHUNK; maxima[chunk] >= floor && i < V && i < (chunk + 1) * CHUNK; i += W) {
            uint32_t found = bits(load(row + i, V - i) >= splat(floor));
            if (V - i < W) found &= (1u << (V - i)) - 1;
            for (; found; found &= found - 1) take(i + __builtin_ctz(found));
        }
}

// A lower bound of the k-th largest entry: the k-th largest chunk maximum. Overwrites `best`.
INLINE float floor_of(const float* maxima, int64_t V, Largest best) {
    best.count = 0;
    for (int64_t chunk = 0; chunk < chunk_count(V); chunk++) best.offer(maxima[chunk], chunk);
    return best.count == best.room ? best.values[best.room - 1] : -INFINITY;
}

static void log_normaliser(const float* logits, float* out, int64_t R, int64_t V, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < R; r++) {
        float highest = -INFINITY;
        for (int64_t chunk = 0; chunk < chunk_count(V); chunk++) {
            const float most = chunk_maximum(logits + r * V, V, chunk);
            highest = most > highest ? most : highest;
        }
        out[r] = highest + logf(powers(logits + r * V, V, highest));
    }
}

// The top-k of every row, descending, and their columns; ties keep their order.
static void top(const float* logits, float* values, int64_t* columns, int64_t R, int64_t V, int64_t k, int threads) {
#pragma omp parallel num_threads(threads)
    {
        const Scratch maxima(chunk_count(V));
#pragma omp for schedule(static)
        for (int64_t r = 0; r < R; r++) {
            const float* row = logits + r * V;
            for (int64_t chunk = 0; chunk < chunk_count(V); chunk++) maxima[chunk] = chunk_maximum(row, V, chunk);
            Largest best{values + r * k, columns + r * k, k, 0};
            at_least(row, V, maxima, floor_of(maxima, V, best), [&](int64_t i) { best.offer(row[i], i); });
            best.fill();
        }
    }
}
