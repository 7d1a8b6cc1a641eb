// What an exported page calls for a language model, for a text with masked tokens, and for an image.
#pragma once

// --- language models ---------------------------------------------------------------------------------

EXPORTED int32_t load_text_model(const uint8_t* bytes, uint32_t size) {
    Reader from{bytes, size, 0, true};
    static_cast<TextHeader&>(text) = from.number<TextHeader>();
    if (text.magic != TEXT_MAGIC) return FOREIGN;
    if (text.layers > MOST_LAYERS || text.layers < 1 || text.H < 1 || text.d < 1 || text.context < 1) return DAMAGED;
    return (text.int8 ? text.read<Int8>(from) : text.read<Fp32>(from)) ? NONE : DAMAGED;
}
EXPORTED void begin_text(int32_t tokens) { text.int8 ? text.begin<Int8>(tokens) : text.begin<Fp32>(tokens); }
// Read a token, and return the next one's logits; text_attention is then (layers, H, tokens that are seen).
EXPORTED const float* step_text(int32_t token) {
    text.int8 ? text.step<Int8>(token) : text.step<Fp32>(token);
    return text.logits.data;
}
EXPORTED const float* text_attention() { return text.weights.data; }

// --- texts with masked tokens, and images ------------------------------------------------------------

EXPORTED int32_t load_sequence_model(const uint8_t* bytes, uint32_t size) {
    Reader from{bytes, size, 0, true};
    static_cast<SequenceHeader&>(sequence) = from.number<SequenceHeader>();
    const SequenceHeader& head = sequence;
    if (head.magic != SEQUENCE_MAGIC) return FOREIGN;
    if (head.layers > MOST_LAYERS || head.layers < 1 || head.H < 1 || head.d < 1 || head.positions < 1) return DAMAGED;
    return (head.int8 ? sequence.read<Int8>(from) : sequence.read<Fp32>(from)) ? NONE : DAMAGED;
}
// Read ids, at most as many as there are positions; sequence_attention is then (layers, H, length, length).
EXPORTED void read_masked(const int32_t* ids, uint32_t length) {
    sequence.int8 ? sequence.read_text<Int8>(ids, length) : sequence.read_text<Fp32>(ids, length);
}
EXPORTED void read_image(const float* patches) {
    sequence.int8 ? sequence.read_image<Int8>(patches) : sequence.read_image<Fp32>(patches);
}
EXPORTED const float* score_position(int32_t position) {
    sequence.int8 ? sequence.score<Int8>(position) : sequence.score<Fp32>(position);
    return sequence.logits.data;
}
EXPORTED const float* sequence_attention() { return sequence.weights.data; }
