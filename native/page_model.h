// A model of an exported page, read in place from the bytes that src/multihead/apps/export/page/weights.py writes.
#pragma once
#include "search_layers.h"

constexpr int32_t MAGIC = 0x31676870;  // "phg1"
constexpr int64_t MOST_LAYERS = 64;
enum Positions { NO_POSITIONS, INTERLEAVED, CONCATENATED, LEARNED };

struct Header {
    int32_t magic, int8, H, d, d_k, d_v, d_ff, encoder_layers, decoder_layers, source_vocabulary, target_vocabulary;
    int32_t before, recurrent, zero_first, positions, source_positions, target_positions;
    float source_scale, target_scale;
};

// Reads item by item: numbers of 32 bits, and arrays by their offset, which is 0 where there is none.
struct Reader {
    const uint8_t* all;
    int64_t size, at;
    bool whole;

    template <class T>
    T number() {
        T found{};
        if (at + (int64_t)sizeof found > size)
            whole = false;
        else
            memcpy(&found, all + at, sizeof found);
        at += sizeof found;
        return found;
    }
    const void* array(int64_t bytes) {
        const int64_t offset = number<uint32_t>();
        whole = whole && offset % 16 == 0 && offset + bytes <= size;
        return whole && offset ? all + offset : nullptr;
    }
    const float* floats(int64_t n) { return (const float*)array(4 * n); }
    template <class Format>
    Linear linear(int64_t in, int64_t out, bool needed = true) {
        const void* weight = array(4 * panel_count(out) * PANEL * Format::words(in));
        whole = whole && (weight || !needed);
        return {(const uint32_t*)weight, floats(out), in, out, 0};
    }
    Norm norm(int64_t d) {
        const float *gamma = floats(d), *beta = floats(d);
        return {gamma, beta, number<double>()};
    }
    void norms(Norm* to, int count, int64_t d) {
        for (int i = 0; i < count; i++) to[i] = norm(d), whole = whole && to[i].gamma;
    }
    // Layers of self-attention and a feed-forward network, of the widths of a header.
    template <class Format, class Widths>
    void encoder_layers(EncoderLayer* to, int count, const Widths& w) {
        const int64_t keys = w.H * w.d_k, values = w.H * w.d_v;
        for (int l = 0; l < count; l++) {
            EncoderLayer& layer = to[l];
            layer.qkv = linear<Format>(w.d, 2 * keys + values), layer.out = linear<Format>(values, w.d);
            layer.first = linear<Format>(w.d, w.d_ff), layer.second = linear<Format>(w.d_ff, w.d);
            layer.before = w.before, layer.reach = -1, norms(layer.norms, 2, w.d);
        }
    }
};

// Memory that grows on request.
template <class T>
struct Buffer {
    T* data = nullptr;
    int64_t room = 0;

    T* of(int64_t n) {
        if (n <= room) return data;
        free(data);
        return room = n, data = (T*)aligned_alloc(64, (n * sizeof(T) + 127) / 64 * 64);
    }
};

struct Model : Header {
    EncoderLayer encoder[MOST_LAYERS];
    DecoderLayer layers[MOST_LAYERS];
    Linear keys_values[MOST_LAYERS];
    Norm encoder_norm;
    Decoder decoder;
    const float *source, *target, *source_learned, *target_learned;
    Buffer<float> source_table, target_table, sinusoids;

    LayerShape shape(int64_t K) const { return {1, K, H, d, d_k, d_v, d_ff}; }

    template <class Format>
    bool read(Reader& from) {
        const int64_t keys = H * d_k, values = H * d_v, wide = 2 * keys + values;
        const Linear output = from.linear<Format>(d, target_vocabulary);
        const Linear own = from.linear<Format>(d, target_vocabulary, false);
        const Linear other = from.linear<Format>(d, source_vocabulary, false);
        source_learned = from.floats((int64_t)source_positions * d);
        target_learned = from.floats((int64_t)target_positions * d);
        from.encoder_layers<Format>(encoder, encoder_layers, *this);
        encoder_norm = from.norm(d);
        for (int l = 0; l < decoder_layers; l++) {
            DecoderLayer& layer = layers[l];
            layer.qkv = from.linear<Format>(d, recurrent ? 2 * d : wide);
            layer.self_out = from.linear<Format>(values, d, !recurrent);
            layer.query = from.linear<Format>(d, keys), layer.source_out = from.linear<Format>(values, d);
            layer.first = from.linear<Format>(d, d_ff), layer.second = from.linear<Format>(d_ff, d);
            layer.before = before, layer.recurrent = recurrent, from.norms(layer.norms, 3, d);
            keys_values[l] = from.linear<Format>(d, keys + values);
        }
        decoder = {layers, decoder_layers, from.norm(d), output};
        const bool learned = positions == LEARNED;
        if (!from.whole || (learned && !(source_learned && target_learned))) return false;
        target = rows<Format>(own.weight ? own : output, target_scale, target_table);
        const bool shared = !other.weight && source_scale == target_scale;
        source = shared ? target : rows<Format>(other.weight ? other : output, source_scale, source_table);
        return true;
    }

    // The scaled rows of a packed matrix, and a row of zeros.
    template <class Format>
    static const float* rows(const Linear& w, float factor, Buffer<float>& buffer) {
        float* to = buffer.of((w.out + 1) * w.in);
        memset(to + w.out * w.in, 0, w.in * sizeof(float));
        for (int64_t o = 0; o < w.out; o++) {
            const uint32_t* panel = w.weight + o / PANEL * PANEL * Format::words(w.in) + o % PANEL;
            for (int64_t i = 0; i < w.in; i++) {
                float weight;
                if constexpr (sizeof(typename Format::Element) == 4) {
                    memcpy(&weight, panel + i * PANEL, 4);
                } else {
                    memcpy(&weight, panel + Format::depth(w.in) * PANEL, 4);
                    weight *= (float)(int8_t)(panel[i / 4 * PANEL] >> 8 * (i % 4));
                }
                to[o * w.in + i] = weight * factor;
            }
        }
        return to;
    }

    // Encodings of at least n positions, as src/multihead/nn/positions.py computes them; null: none.
    const float* encodings(const float* learned, int64_t n) {
        if (positions == NO_POSITIONS || positions == LEARNED) return learned;
        if (n * d <= sinusoids.room) return sinusoids.data;
        n = larger(2 * n, 128);
        float* table = sinusoids.of(n * d);
        const int64_t half = (d + 1) / 2, spread = larger(half - 1, 1);
        for (int64_t p = 0; p < n; p++)
            for (int64_t i = 0; i < half; i++) {
                const bool paper = positions == INTERLEAVED;
                const double angle = p / pow(10000.0, paper ? 2.0 * i / d : (double)i / spread);
                const int64_t cosine = paper ? 2 * i + 1 : half + i;
                table[p * d + (paper ? 2 * i : i)] = (float)sin(angle);
                if (cosine < d) table[p * d + cosine] = (float)cos(angle);
            }
        return table;
    }
};
