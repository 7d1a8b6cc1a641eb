// Beam search (Wu et al. 2016, sec. 7), several steps per call. src/multihead/search/beam.py explains the algorithm
// and is the oracle in the tests. A beam of 1 is greedy search.
//
// One call saves overhead: a step of one sentence is a third of a millisecond of arithmetic, to which sixty separate
// calls added twice as much.
#pragma once
#include "screen.h"
#include "search_layers.h"

constexpr float IMPOSSIBLE = -1e4f;  // smallest score of a forced end symbol
constexpr int64_t WIDEST = 64;       // largest beam
constexpr int64_t TOGETHER = 64;     // rows per block of logits, which stay in the cache until they are read

struct Search {
    int64_t K, n_best, vocabulary, eos, first;  // first: stop after K ended hypotheses
    double alpha;
    int64_t bans;
    const int64_t* banned;
    int64_t ngram, min_length;  // no n-gram twice, the begin symbol included; no end symbol before; 0: allowed
    int64_t reach;              // earlier positions that a position sees; negative: all

    float penalty(int64_t length) const { return powf((5.0f + (float)length) / 6.0f, (float)alpha); }
};

// The N sentences still searched; `place` is a sentence's index in the input. Step t reads tokens[t] and writes
// tokens[t + 1] and parents[t + 1], both (steps + 1, places, K).
struct Hypotheses {
    int64_t N, places;
    float* sums;                     // (N, K), log-probabilities; -inf: unused
    float* bias;                     // (N, K, room), 0 if a slot is visible, else -inf; null: all are
    float* scores;                   // (N, n_best), of the best ended hypotheses, descending
    int64_t* ended;                  // (N), number of ended hypotheses
    uint8_t* done;                   // (N), whether the sentence is finished
    const int64_t *longest, *place;  // (N), maximum length in tokens; index in the input
    int64_t *tokens, *parents;
    int64_t* ends;  // (any, 4), ended hypotheses: place, step, parent, cut
    float* totals;  // their log-probabilities
    float* x;       // (N K, d)
    float *logits;     // (TOGETHER, V)
    float *normaliser, *end, *values;  // (N K): log-normaliser, end symbol's logit; (N K, K): top-k logits
    int64_t* columns;  // (N K, K): top-k tokens
};

struct Choice {
    float sum;
    int64_t parent, token;
    bool cut;
};

// The K best extensions of sentence n, best first; ties keep the order in which they are found.
static void choose(const Search& search, const Hypotheses& live, int64_t n, int64_t rows, int64_t step, Choice* best) {
    const int64_t K = search.K, C = K < search.vocabulary ? K : search.vocabulary;
    int64_t count = 0;
    const auto offer = [&](const Choice& one) {
        if (one.sum == -INFINITY || (count == K && !(one.sum > best[K - 1].sum))) return;
        int64_t place = count < K ? count++ : K - 1;
        for (; place > 0 && one.sum > best[place - 1].sum; place--) best[place] = best[place - 1];
        best[place] = one;
    };
    for (int64_t k = 0; k < rows; k++) {
        const int64_t r = n * rows + k;
        const float *values = live.values + r * C, sum = live.sums[n * K + k], normaliser = live.normaliser[r];
        if (values[0] == -INFINITY || step >= live.longest[n]) {
            const float end = live.end[r];
            const bool cut = end < values[0] || values[0] == -INFINITY;
            offer({sum + ((end > IMPOSSIBLE ? end : IMPOSSIBLE) - normaliser), k, search.eos, cut});
            continue;
        }
        for (int64_t c = 0; c < C; c++) offer({sum + (values[c] - normaliser), k, live.columns[r * C + c], false});
    }
    for (; count < K; count++) best[count] = {-INFINITY, 0, 0, false};
}

// Store the hypotheses that end, and record those that stay alive. Return whether the sentence is finished.
static bool advance(const Search& search, const Hypotheses& live, int64_t n, int64_t step, const Choice* best,
                    int64_t* ends) {
    const int64_t K = search.K, place = live.place[n];
    float *scores = live.scores + n * search.n_best, *sums = live.sums + n * K;
    const float worst = scores[search.n_best - 1], penalty = search.penalty(step + 1);
    float highest = -INFINITY;
    for (int64_t k = 0; k < K; k++) {
        const Choice& one = best[k];
        const int64_t written = ((step + 1) * live.places + place) * K + k;
        live.tokens[written] = one.token, live.parents[written] = one.parent, sums[k] = one.sum;
        if (one.token == search.eos && one.sum > -INFINITY) {
            sums[k] = -INFINITY, live.ended[n]++;
            const float score = one.sum / penalty;
            if (score > worst) {
                int64_t number, rank = search.n_best - 1;
#pragma omp atomic capture
                number = (*ends)++;
                int64_t* end = live.ends + 4 * number;
                end[0] = place, end[1] = step, end[2] = one.parent, end[3] = one.cut;
                live.totals[number] = one.sum;
                for (; rank > 0 && score > scores[rank - 1]; rank--) scores[rank] = scores[rank - 1];
                if (score > scores[rank]) scores[rank] = score;
            }
        }
        highest = sums[k] > highest ? sums[k] : highest;
    }
    const float soonest = search.penalty(step + 2), latest = search.penalty(live.longest[n] + 1);
    const float attainable = highest / (soonest > latest ? soonest : latest);
    const bool done = highest == -INFINITY || attainable <= scores[search.n_best - 1] ||
                      (search.first && live.ended[n] >= K);
    // A finished sentence stays finished: its results must not depend on when the batch drops it.
    for (int64_t k = 0; k < K && done; k++) sums[k] = -INFINITY;
    return done;
}

// Every hypothesis sees the slots that its parent sees, the parent's newest included.
static void inherit(int64_t K, const Choice* best, float* bias, int64_t room, int64_t slots, float* work) {
    for (int64_t k = 0; k < K; k++) memcpy(work + k * slots, bias + best[k].parent * room, slots * sizeof(float));
    for (int64_t k = 0; k < K; k++) memcpy(bias + k * room, work + k * slots, slots * sizeof(float));
}

// Hide all slots that a hypothesis sees but the last `reach`: with its next token, these are its window.
static void forget(float* bias, int64_t slots, int64_t reach) {
    for (int64_t i = slots - 1; i >= 0; i--)
        if (bias[i] == 0.0f && reach-- <= 0) bias[i] = -INFINITY;
}

// Steps made, hypotheses stored, whether finished sentences should be dropped, whether scores were not finite.
enum Report { MADE, ENDS, DUE, BROKEN };

// The tokens that must not follow row r in this step, `banned` first. `work` has room for twice the steps made.
static int64_t forbidden(const Search& search, const Hypotheses& live, int64_t r, int64_t rows, int64_t step,
                         int64_t* list, int64_t* work) {
    int64_t count = search.bans;
    memcpy(list, search.banned, count * sizeof(int64_t));
    if (step < search.min_length) list[count++] = search.eos;
    if (!search.ngram || step + 1 < search.ngram) return count;
    int64_t row = r % rows;
    for (int64_t t = step; t >= 0; t--) {
        const int64_t at = (t * live.places + live.place[r / rows]) * search.K + row;
        work[t] = live.tokens[at], row = live.parents[at];
    }
    const int64_t known = search.ngram - 1, *last = work + step + 1 - known;
    for (int64_t i = !known; i + known <= step; i++)  // the begin symbol never follows
        if (!memcmp(work + i, last, known * sizeof(int64_t))) list[count++] = work[i + known];
    return count;
}

// Compute the logits of all rows, block by block, and their top-k and normalisers. Return whether they are finite.
template <class Format>
static bool look_ahead(const Search& search, const Hypotheses& live, int64_t rows, int64_t step, int threads,
                       const Linear& output, const Screen<Format>& screen) {
    const int64_t R = live.N * rows;
    const bool constrained = search.ngram || step < search.min_length;
    const int64_t V = search.vocabulary, C = search.K < V ? search.K : V, d = output.in;
    bool finite = true;
    for (int64_t m = 0; m < R && finite; m += TOGETHER) {
        const int64_t n = R - m < TOGETHER ? R - m : TOGETHER;
        float* x = live.x + m * d;
        for (int64_t r = 0; r < n && screen.weight; r++) screen.round(x + r * d);
        if (screen.weight)
            linear_shared<Int8>(x, screen.bytes, live.logits, n, threads);
        else
            linear_shared<Format>(x, output, live.logits, n, threads);
#pragma omp parallel num_threads(threads) reduction(&& : finite)
        {
            const Scratch work(2 * V), lists(constrained ? 2 * (2 * step + search.bans + 4) : 0);
            int64_t* list = (int64_t*)(float*)lists;
#pragma omp for schedule(static)
            for (int64_t r = 0; r < n; r++) {
                Asked asked{V, search.eos, search.bans, search.banned};
                if (constrained) {
                    asked.bans = forbidden(search, live, m + r, rows, step, list, list + step + search.bans + 2);
                    asked.banned = list;
                }
                const Largest best{live.values + (m + r) * C, live.columns + (m + r) * C, C, 0};
                const Surveyed found = survey(live.logits + r * V, asked, screen, x + r * d, work, best);
                live.normaliser[m + r] = found.normaliser, live.end[m + r] = found.end;
                finite = finite && __builtin_isfinite(found.normaliser);
            }
        }
    }
    return finite;
}

// Take at most `most` steps, starting at `step`, until enough sentences are finished to drop them.
template <class Format>
static void search_windows(const Decoder& decoder, const LayerShape& shape,
                         const Cached<typename Format::Element>& self, const Cached<typename Format::Element>& source,
                         const int64_t* lengths, const float* embedding, const float* positions,
                         const Screen<Format>& screen, const Search& search, const Hypotheses& live, int64_t step,
                         int64_t most, int64_t* report, int threads) {
    const int64_t K = search.K, room = self.room;
    Cached<typename Format::Element> own = self;
    LayerShape s = shape;
    report[MADE] = report[ENDS] = report[DUE] = report[BROKEN] = 0;
    for (; report[MADE] < most && !report[DUE]; step++, report[MADE]++) {
        const int64_t rows = step ? K : 1;
        for (int64_t i = 0; i < live.N * K && live.bias && step; i++)
            for (int64_t k = 0; k < K; k++) live.bias[i * room + own.slots + k] = k == i % K ? 0.0f : -INFINITY;
        s.K = rows, own.slots += rows;
        for (int64_t r = 0; r < live.N * rows; r++) {
            const int64_t from = (step * live.places + live.place[r / rows]) * K + r % rows;
            const float *token = embedding + live.tokens[from] * s.d, *position = positions + step * s.d;
            for (int64_t i = 0; i < s.d; i++) live.x[r * s.d + i] = token[i] + (positions ? position[i] : 0.0f);
        }
        decode_cells<Format>(live.x, decoder, s, own, source, step ? live.bias : nullptr, room, lengths, nullptr,
                             threads);
        report[BROKEN] = !look_ahead(search, live, rows, step, threads, decoder.output, screen);
        if (report[BROKEN]) return;
        int64_t done = 0, at_limit = 0;
#pragma omp parallel num_threads(threads) reduction(+ : done, at_limit)
        {
            const Scratch work(K * own.slots);
#pragma omp for schedule(static)
            for (int64_t n = 0; n < live.N; n++) {
                Choice best[WIDEST];
                choose(search, live, n, rows, step, best);
                live.done[n] = advance(search, live, n, step, best, report + ENDS);
                done += live.done[n], at_limit += live.done[n] && step >= live.longest[n];
                if (!live.bias) continue;
                if (step)
                    inherit(K, best, live.bias + n * K * room, room, own.slots, work);
                else
                    for (int64_t k = 0; k < K; k++) live.bias[(n * K + k) * room] = 0.0f;
                for (int64_t k = 0; k < K && search.reach >= 0; k++)
                    forget(live.bias + (n * K + k) * room, own.slots, search.reach);
            }
        }
        report[DUE] = at_limit || 8 * done >= live.N;
    }
}
