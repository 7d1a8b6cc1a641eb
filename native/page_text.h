// A language model of an exported page: a decoder without an encoder (Radford et al. 2018), token by token.
//
// src/multihead/apps/export/page/text_weights.py writes what `read` reads.
#pragma once
#include "page_model.h"

constexpr int32_t TEXT_MAGIC = 0x31746870;  // "pht1"
enum Activation { RELU, GELU, GELU_TANH, SILU };

struct TextHeader {
    int32_t magic, int8, H, d, d_k, d_v, d_ff, layers, vocabulary, before, activation, positions, context;
    float scale;
};

INLINE float activated(float x, int32_t kind) {
    if (kind == GELU) return 0.5f * x * (1.0f + erff(x * 0.70710678f));
    if (kind == GELU_TANH) return x / (1.0f + expf(-1.59576912f * (x + 0.044715f * x * x * x)));
    if (kind == SILU) return x / (1.0f + expf(-x));
    return x > 0 ? x : 0;
}

struct TextModel : TextHeader {
    EncoderLayer stack[MOST_LAYERS];
    Norm norm;
    Linear output;
    const float *embedding, *learned;
    Buffer<float> table, x, logits, weights;
    Buffer<uint8_t> memory;
    int64_t room, written;

    template <class Format>
    bool read(Reader& from) {
        output = from.linear<Format>(d, vocabulary);
        learned = from.floats((int64_t)positions * d);
        from.encoder_layers<Format>(stack, layers, *this);
        norm = from.norm(d);
        if (!from.whole || (positions && !learned)) return false;
        embedding = Model::rows<Format>(output, scale, table);
        return true;
    }

    // Forget the text, and make room for this many tokens.
    template <class Format>
    void begin(int64_t tokens) {
        room = padded16(tokens), written = 0;
        const int64_t numbers = layers * H * room * (d_k + padded16(d_v)) + 64;
        memory.of(numbers * sizeof(typename Format::Element));
        x.of(d + W), logits.of(vocabulary), weights.of(layers * H * room);
    }

    // Read the next token; write the following one's logits, and the weights of every head, (layers, H, tokens).
    template <class Format>
    void step(int64_t token) {
        using Element = typename Format::Element;
        const LayerShape s{1, 1, H, d, d_k, d_v, d_ff};
        const int64_t keys = H * d_k, values = H * d_v, wide = 2 * keys + values, D = padded16(d_v);
        const int64_t first = larger(0, written + 1 - context), seen = written + 1 - first;
        for (int64_t i = 0; i < d; i++)
            x.data[i] = embedding[token * d + i] + (positions ? learned[written * d + i] : 0.0f);
        Element* kept = (Element*)memory.data;
        const Cached<Element> all{kept, kept + layers * keys * room, room, written + 1, 1};
        const Memory<Format> own(1, s, wide, padded(seen) + D + 1);
        attention_record = weights.data;
        for (int64_t l = 0; l < layers; l++) {
            const EncoderLayer& layer = stack[l];
            const Stream stream{x.data, own.y, 1, d, layer.before, layer.norms};
            linear<Format>(1, stream.read(0), d, layer.qkv, own.inner, wide, own.rows);
            for (int64_t h = 0; h < H; h++) {
                const Cached<Element> head = all.of_layer(l, s).from(h, s);
                head.put(own.inner + keys + h * d_k, own.inner + 2 * keys + h * d_v, s, written);
                look(1, own.inner + h * d_k, wide, head.keys + first, room, head.values + first * D, D, seen, d_k, d_v,
                     nullptr, 0, own.work, own.heads + h * d_v, values);
            }
            linear<Format>(1, own.heads, values, layer.out, own.y, d, own.rows);
            stream.add(0);
            linear<Format>(1, stream.read(1), d, layer.first, own.inner, d_ff, own.rows);
            for (int64_t i = 0; i < d_ff; i++) own.inner[i] = activated(own.inner[i], activation);
            linear<Format>(1, own.inner, d_ff, layer.second, own.y, d, own.rows);
            stream.add(1);
        }
        attention_record = nullptr;
        if (norm.gamma) layer_norm(1, x.data, d, norm, x.data);
        linear_shared<Format>(x.data, output, logits.data, 1, 1);
        written++;
    }
};
