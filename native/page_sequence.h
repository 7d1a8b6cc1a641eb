// A model of an exported page that reads all positions at once: BERT (Devlin et al. 2019), which fills masked tokens,
// and ViT (Dosovitskiy et al. 2021), which classifies an image.
//
// src/multihead/apps/export/page/sequence_weights.py writes what `read` reads.
#pragma once
#include "page_text.h"

constexpr int32_t SEQUENCE_MAGIC = 0x31736870;  // "phs1"

// A text's vocabulary is its number of outputs, and its inputs 0; an image's inputs are the numbers of a patch, its
// outputs the classes. `first`: tokens before the patches. `mean`: images are pooled by the mean of their patches.
struct SequenceHeader {
    int32_t magic, int8, H, d, d_k, d_v, d_ff, layers, outputs, inputs, before, activation, positions, first, mean;
    float scale;
};

struct SequenceModel : SequenceHeader {
    EncoderLayer stack[MOST_LAYERS];
    Norm norm, embedding_norm, transform_norm;
    Linear output, patches, transform;
    const float *embedding, *places, *tokens;
    Buffer<float> table, x, weights, logits, row;
    int64_t N;

    template <class Format>
    bool read(Reader& from) {
        output = from.linear<Format>(d, outputs);
        places = from.floats((int64_t)positions * d);
        if (inputs) {
            patches = from.linear<Format>(inputs, d), tokens = from.floats((int64_t)first * d);
            from.whole = from.whole && (tokens || !first);
        } else {
            embedding_norm = from.norm(d), transform = from.linear<Format>(d, d), transform_norm = from.norm(d);
            from.whole = from.whole && embedding_norm.gamma && transform_norm.gamma;
        }
        from.encoder_layers<Format>(stack, layers, *this);
        norm = from.norm(d);
        if (!from.whole || !places) return false;
        if (!inputs) embedding = Model::rows<Format>(output, scale, table);
        return true;
    }

    // Pass x (N, d) through the layers; the weights are then (layers, H, N, N).
    template <class Format>
    void encode() {
        const LayerShape s{1, N, H, d, d_k, d_v, d_ff};
        const int64_t wide = H * (2 * d_k + d_v), P = padded16(N);
        const Memory<Format> memory(N, s, wide, P * d_k + attention_work(s, -1));
        float *turned = memory.work, *work = turned + P * d_k;
        memset(turned, 0, P * d_k * sizeof(float));
        attention_record = weights.of(layers * H * N * N);
        for (int64_t l = 0; l < layers; l++) {
            const EncoderLayer& layer = stack[l];
            const Stream stream{x.data, memory.y, N, d, layer.before, layer.norms};
            attend_within(stream, layer, s, &N, 0, 1, memory, turned, work);
            linear<Format>(N, stream.read(1), d, layer.first, memory.inner, d_ff, memory.rows);
            for (int64_t i = 0; i < N * d_ff; i++) memory.inner[i] = activated(memory.inner[i], activation);
            linear<Format>(N, memory.inner, d_ff, layer.second, memory.y, d, memory.rows);
            stream.add(1);
        }
        attention_record = nullptr;
        if (norm.gamma) layer_norm(N, x.data, d, norm, x.data);
    }

    template <class Format>
    void read_text(const int32_t* ids, int64_t length) {
        N = length;
        float* to = x.of(N * d + W);
        for (int64_t i = 0; i < N * d; i++) to[i] = embedding[ids[i / d] * d + i % d] + places[i];
        layer_norm(N, to, d, embedding_norm, to);
        encode<Format>();
    }

    // The logits of a position's token, or, for an image, of its classes.
    template <class Format>
    void score(int64_t position) {
        float *in = row.of(2 * (d + W)), *to = in + d + W;
        memcpy(in, x.data + position * d, d * sizeof(float));
        if (inputs && mean) {
            for (int64_t i = 0; i < d; i++) {
                float sum = 0;
                for (int64_t n = first; n < N; n++) sum += x.data[n * d + i];
                in[i] = sum / (float)(N - first);
            }
        } else if (!inputs) {
            linear_shared<Format>(in, transform, to, 1, 1);
            for (int64_t i = 0; i < d; i++) in[i] = activated(to[i], activation);
            layer_norm(1, in, d, transform_norm, in);
        }
        linear_shared<Format>(in, output, logits.of(outputs + W), 1, 1);
    }

    // Read the patches (positions, inputs), with pixels from -1 to 1.
    template <class Format>
    void read_image(const float* pixels) {
        N = first + positions;
        float* to = x.of(N * d + W);
        if (first) memcpy(to, tokens, first * d * sizeof(float));
        linear_shared<Format>(pixels, patches, to + first * d, positions, 1);
        for (int64_t i = 0; i < positions * d; i++) to[first * d + i] += places[i];
        encode<Format>();
    }
};
