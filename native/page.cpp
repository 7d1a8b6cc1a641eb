// The engine of an exported page (multihead export RUN --to page): the search kernels, compiled to WebAssembly by
// `make wasm`.
//
// One model and one sentence at a time. JavaScript copies the model into memory that it asks for, calls read_source,
// then begin_search and advance until a search ends, or replay, and reads results at the addresses that are returned.
#define RECORDS_ATTENTION
#include "lanes.h"

namespace {
#include "beam.h"
#include "page_model.h"
#include "page_sequence.h"
#include "page_text.h"

enum Outcome { RUNNING, FINISHED, NOT_FINITE };
enum Fault { NONE, DAMAGED, FOREIGN };

Model model;
Buffer<int64_t> bans;
int64_t ban_count, eos;

// The source: its length, and the weights of self-attention, (layers, H, S, S).
int64_t S;
Buffer<float> source_x, source_weights;
Buffer<uint8_t> source_memory;

template <class Format>
struct Memory32 {
    using Element = typename Format::Element;
    static int64_t numbers(int64_t room) {
        return model.decoder_layers * model.H * room * (model.d_k + padded16(model.d_v));
    }
    // Room for slots of one sentence in all layers; 64 numbers may be read past the end.
    static Cached<Element> of(Buffer<uint8_t>& buffer, int64_t room, int64_t slots) {
        auto* keys = (Element*)buffer.of((numbers(room) + 64) * sizeof(Element));
        return {keys, keys + model.decoder_layers * model.H * model.d_k * room, room, slots, 1};
    }
};

template <class Format>
Cached<typename Format::Element> source_cache() {
    return Memory32<Format>::of(source_memory, padded16(S), padded16(S));
}

template <class Format>
void read(const int32_t* ids) {
    const int64_t d = model.d, layer_weights = model.H * S * S;
    const LayerShape s = model.shape(S);
    float* x = source_x.of(S * d + W);
    const float* positions = model.encodings(model.source_learned, S);
    for (int64_t i = 0; i < S * d; i++)
        x[i] = model.source[ids[i / d] * d + i % d] + (positions ? positions[i] : 0.0f);
    attention_record = source_weights.of(model.encoder_layers * layer_weights);
    for (int64_t l = 0; l < model.encoder_layers; l++) encode_cells<Format>(x, model.encoder[l], s, &S, 1);
    attention_record = nullptr;
    if (model.encoder_norm.gamma) layer_norm(S, x, d, model.encoder_norm, x);
    for (int64_t l = 0; l < model.decoder_layers; l++)
        keep_source<Format>(x, l, model.keys_values[l], s, source_cache<Format>(), 1);
}

// --- search ------------------------------------------------------------------------------------------

constexpr int64_t STEPS = 8;  // between two looks at which slots are in use

struct BeamSearch {
    Search search;
    int64_t longest, step, slots, room, place, ended, ends, dropped;
    uint8_t done;
    Buffer<float> sums, bias, scores, totals, x, logits, normaliser, end, values;
    Buffer<int64_t> tokens, parents, records, columns;
    Buffer<uint8_t> memory, spare;

    void begin(int64_t K, int64_t n_best, double alpha, int64_t most, bool first, int64_t begin) {
        const int64_t V = model.target_vocabulary, top = K < V ? K : V;
        search = {K, n_best, V, eos, first, alpha, ban_count, bans.data, 0, 0, -1};
        longest = most, step = slots = place = ended = ends = done = 0;
        room = padded16(K * (2 * STEPS + 1));
        sums.of(K), scores.of(n_best), x.of(K * model.d + W), logits.of(K * V);
        normaliser.of(K), end.of(K), values.of(K * top), columns.of(K * top);
        tokens.of((longest + 2) * K), parents.of((longest + 2) * K);
        records.of(4 * K * (longest + 2)), totals.of(K * (longest + 2)), bias.of(K * room);
        for (int64_t k = 0; k < K; k++) sums.data[k] = k ? -INFINITY : 0.0f, tokens.data[k] = begin;
        for (int64_t i = 0; i < n_best; i++) scores.data[i] = -INFINITY;
    }

    // Copy the slots in `kept` to memory with room for `wanted`.
    template <class Format>
    void move(const int64_t* kept, int64_t count, int64_t wanted) {
        using Held = Memory32<Format>;
        const LayerShape s = model.shape(1);
        const int64_t K = search.K, heads = model.decoder_layers * model.H, D = padded16(s.d_v);
        const auto from = Held::of(memory, room, slots);
        const int64_t larger_room = padded16(wanted);
        const auto to = Held::of(spare, larger_room, count);
        memset(spare.data, 0, (Held::numbers(larger_room) + 64) * sizeof(typename Held::Element));
        for (int64_t i = 0; i < heads * s.d_k; i++)
            for (int64_t m = 0; m < count; m++) to.keys[i * larger_room + m] = from.keys[i * room + kept[m]];
        for (int64_t h = 0; h < heads; h++)
            for (int64_t m = 0; m < count; m++)
                memcpy(to.values + (h * larger_room + m) * D, from.values + (h * room + kept[m]) * D,
                       D * sizeof(*to.values));
        Buffer<float> wider;
        wider.of(K * larger_room);
        for (int64_t k = 0; k < K; k++)
            for (int64_t m = 0; m < count; m++) wider.data[k * larger_room + m] = bias.data[k * room + kept[m]];
        free(bias.data), bias = wider;
        const Buffer<uint8_t> old = memory;
        memory = spare, spare = old, room = larger_room, slots = count;
    }

    // Drop slots that no hypothesis uses if they are half of all, and make room for the next steps.
    template <class Format>
    void tidy() {
        const int64_t K = search.K, wanted = slots + K * STEPS;
        Buffer<int64_t> kept;
        kept.of(slots + 1);
        int64_t count = 0;
        for (int64_t i = 0; i < slots; i++) {
            bool used = K == 1;
            for (int64_t k = 0; k < K && !used; k++) used = bias.data[k * room + i] == 0.0f;
            if (used) kept.data[count++] = i;
        }
        if (2 * count > slots) {
            for (count = 0; count < slots; count++) kept.data[count] = count;
            if (wanted > room) move<Format>(kept.data, count, 2 * wanted);
        } else if (slots) {
            move<Format>(kept.data, count, 2 * (count + K * STEPS));
        }
        free(kept.data);
    }

    template <class Format>
    int advance() {
        const int64_t K = search.K;
        tidy<Format>();
        const Hypotheses live{1,           1,           sums.data,    K > 1 ? bias.data : nullptr,
                              scores.data, &ended,      &done,        &longest,
                              &place,      tokens.data, parents.data, records.data + 4 * ends,
                              totals.data + ends,       x.data,       logits.data,
                              normaliser.data,          end.data,     values.data,
                              columns.data};
        int64_t report[4];
        const float* positions = model.encodings(model.target_learned, step + STEPS);
        const int64_t left = model.positions == LEARNED ? model.target_positions - step : STEPS;
        search_windows<Format>(model.decoder, model.shape(1), Memory32<Format>::of(memory, room, slots),
                             source_cache<Format>(), &S, model.target, positions, Screen<Format>{}, search, live, step,
                             left < STEPS ? left : STEPS, report, 1);
        if (report[BROKEN] || left <= 0) return NOT_FINITE;
        slots += step ? K * report[MADE] : 1 + K * (report[MADE] - 1);
        step += report[MADE], ends += report[ENDS];
        return done ? FINISHED : RUNNING;
    }

    // Write the tokens of the best hypothesis that was not asked for yet, the last one first; return their number, or
    // -1 if there is none.
    int64_t best(int32_t* to, float* score) {
        int64_t found = -1;
        for (int64_t e = 0; e < ends; e++) {
            const float one = totals.data[e] / search.penalty(records.data[4 * e + 1] + 1);
            if (records.data[4 * e] == 0 && (found < 0 || one > *score)) found = e, *score = one;
        }
        if (found < 0) return -1;
        int64_t* record = records.data + 4 * found;
        record[0] = -1;
        int64_t row = record[2], length = 0;
        for (int64_t t = record[1]; t > 0; t--)
            to[length++] = (int32_t)tokens.data[t * search.K + row], row = parents.data[t * search.K + row];
        return length;
    }
};
BeamSearch searched;

// --- the chosen output, once more --------------------------------------------------------------------

// Weights of self-attention, (layers, H, T, T), and over the source, (layers, H, T, S); each position's top-k tokens,
// their probabilities, and that of the token that was written.
struct Replay {
    static constexpr int64_t MOST = 16;
    int64_t T;
    Buffer<float> own, cross, step, x, logits, values, probabilities, chosen;
    Buffer<int64_t> found;
    Buffer<int32_t> tokens;
    Buffer<uint8_t> memory;

    // Read `count` given tokens; then write greedily up to the end symbol or the longest length. The end symbol is part
    // of the result. Return the number of positions, or -1 if scores are not finite.
    template <class Format>
    int64_t run(const int32_t* given, int64_t count, bool complete, int64_t longest, int64_t begin) {
        const int64_t V = model.target_vocabulary, L = model.decoder_layers, H = model.H;
        const int64_t most = complete ? count + 1 : larger(longest, count) + 1, room = padded16(most);
        const int64_t ways = MOST < V ? MOST : V;
        const LayerShape s = model.shape(1);
        auto cache = Memory32<Format>::of(memory, room, 0);
        float* scores = logits.of(V);
        const float* positions = model.encodings(model.target_learned, most);
        own.of(L * H * most * most), cross.of(L * H * most * S), step.of(L * H * (most + S));
        tokens.of(most), probabilities.of(most * MOST), found.of(most * MOST), chosen.of(most), values.of(MOST);
        const Scratch work(2 * V);
        const Asked asked{V, eos, ban_count, bans.data};
        T = 0;
        int64_t token = begin;
        while (T < most && (model.positions != LEARNED || T < model.target_positions)) {
            float* in = x.of(model.d + W);
            for (int64_t i = 0; i < model.d; i++)
                in[i] = model.target[token * model.d + i] + (positions ? positions[T * model.d + i] : 0.0f);
            cache.slots = T + 1;
            attention_record = step.data;
            decode_cells<Format>(in, model.decoder, s, cache, source_cache<Format>(), nullptr, 0, &S, scores, 1);
            attention_record = nullptr;
            const float* recorded = step.data;
            for (int64_t l = 0; l < L; l++) {
                for (int64_t h = 0; h < H && !model.recurrent; h++, recorded += T + 1)
                    memcpy(own.data + ((l * H + h) * most + T) * most, recorded, (T + 1) * sizeof(float));
                for (int64_t h = 0; h < H; h++, recorded += S)
                    memcpy(cross.data + ((l * H + h) * most + T) * S, recorded, S * sizeof(float));
            }
            int64_t* best = found.data + T * MOST;
            const bool is_given = T < count, ends = complete && T == count;
            const float written = is_given ? scores[given[T]] : 0.0f;
            const Surveyed row = survey(scores, asked, Screen<Format>{}, in, work, Largest{values.data, best, ways, 0});
            if (!__builtin_isfinite(row.normaliser)) return -1;
            for (int64_t k = 0; k < ways; k++)
                probabilities.data[T * MOST + k] = expf(values.data[k] - row.normaliser);
            const bool must_end = ends || T == most - 1;
            const int64_t next = is_given ? given[T] : must_end ? eos : best[0];
            const float logit = is_given ? written : must_end ? row.end : values.data[0];
            chosen.data[T] = expf(logit - row.normaliser);
            tokens.data[T] = (int32_t)next;
            token = next, T++;
            if (!is_given && next == eos) break;
        }
        stride = most;
        return T;
    }
    int64_t stride;  // rows and columns of a map in memory
};
Replay replayed;
TextModel text;
SequenceModel sequence;
}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define BY_FORMAT(call, ...) (model.int8 ? call<Int8>(__VA_ARGS__) : call<Fp32>(__VA_ARGS__))

EXPORTED void* allocate(uint32_t bytes) { return aligned_alloc(64, (bytes + 127) / 64 * 64); }

// Read a model of this many bytes, which stay where they are, and the banned tokens.
EXPORTED int32_t load_model(const uint8_t* bytes, uint32_t size, const int32_t* banned, uint32_t count, int32_t end) {
    Reader from{bytes, size, 0, true};
    static_cast<Header&>(model) = from.number<Header>();
    if (model.magic != MAGIC) return FOREIGN;
    const int32_t layers = model.encoder_layers > model.decoder_layers ? model.encoder_layers : model.decoder_layers;
    if (layers > MOST_LAYERS || model.H < 1 || model.d < 1 || model.decoder_layers < 1) return DAMAGED;
    eos = end, ban_count = count;
    for (uint32_t i = 0; i < count; i++) bans.of(count)[i] = banned[i];
    const auto read = [&] { return model.int8 ? model.read<Int8>(from) : model.read<Fp32>(from); };
    return read() ? NONE : DAMAGED;
}

EXPORTED void read_source(const int32_t* ids, uint32_t length) {
    S = length;
    BY_FORMAT(read, ids);
}
EXPORTED const float* source_attention() { return source_weights.data; }

EXPORTED void begin_search(int32_t K, int32_t n_best, double alpha, int32_t longest, int32_t first, int32_t begin) {
    searched.begin(K, n_best, alpha, longest, first, begin);
}
// Take up to eight steps.
EXPORTED int32_t advance_search() { return model.int8 ? searched.advance<Int8>() : searched.advance<Fp32>(); }
EXPORTED int32_t best_hypothesis(int32_t* tokens, float* score) { return (int32_t)searched.best(tokens, score); }

EXPORTED int32_t replay(const int32_t* given, uint32_t count, int32_t complete, int32_t longest, int32_t begin) {
    return (int32_t)(model.int8 ? replayed.run<Int8>(given, count, complete, longest, begin)
                                : replayed.run<Fp32>(given, count, complete, longest, begin));
}
EXPORTED const int32_t* replayed_tokens() { return replayed.tokens.data; }
EXPORTED const float* replayed_probabilities() { return replayed.chosen.data; }
EXPORTED const int64_t* alternative_tokens() { return replayed.found.data; }
EXPORTED const float* alternative_probabilities() { return replayed.probabilities.data; }
EXPORTED int32_t alternatives() { return (int32_t)Replay::MOST; }
EXPORTED const float* own_attention() { return replayed.own.data; }
EXPORTED const float* cross_attention() { return replayed.cross.data; }
EXPORTED int32_t map_stride() { return (int32_t)replayed.stride; }

#include "page_reading.h"
