// What search asks of a row of scores: the logarithm of the sum of their powers, and its largest entries.
#pragma once
#include "vector.h"

// log sum exp of every row; NaN where there is a NaN, and for a row of nothing but -inf.
static void log_normaliser(const float* logits, float* out, int64_t R, int64_t V, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < R; r++) {
        const float* row = logits + r * V;
        int64_t whole = V / W * W;
        vf most = splat(-INFINITY), mass{};
        for (int64_t i = 0; i < whole; i += W) most = maximum(most, load(row + i));
        float highest = largest(most);
        for (int64_t i = whole; i < V; i++) highest = row[i] <= highest ? highest : row[i];
        for (int64_t i = 0; i < whole; i += W) mass += exponential(load(row + i) - highest);
        float total = sum(mass);
        for (int64_t i = whole; i < V; i++) total += expf(row[i] - highest);
        out[r] = highest + logf(total);
    }
}

constexpr int64_t CHUNK = 64;

// The k largest entries of every row, descending, and their columns; of equal ones the first come first. A chunk
// of columns is looked at only if its maximum is among the k largest so far.
static void top(const float* logits, float* values, int64_t* columns, int64_t R, int64_t V, int64_t k, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < R; r++) {
        const float* row = logits + r * V;
        float* best = values + r * k;
        int64_t *where = columns + r * k, count = 0;
        for (int64_t c = 0; c < V; c += CHUNK) {
            const int64_t end = c + CHUNK < V ? c + CHUNK : V;
            if (count == k && end - c == CHUNK) {
                vf most = load(row + c);
                for (int64_t i = W; i < CHUNK; i += W) most = maximum(most, load(row + c + i));
                if (!(largest(most) > best[k - 1])) continue;
            }
            for (int64_t i = c; i < end; i++) {
                const float x = row[i];
                if (count == k && !(x > best[k - 1])) continue;
                int64_t place = count < k ? count++ : k - 1;
                for (; place > 0 && x > best[place - 1]; place--)
                    best[place] = best[place - 1], where[place] = where[place - 1];
                best[place] = x, where[place] = i;
            }
        }
    }
}
