// Table of kernels by name, compiled once per processor level; src/multihead/system/native.py chooses the level.
//
// A kernel is called with the signature in its file. An argument by reference is the address of its fields, 64 bits
// each.
#include "lanes.h"

namespace {  // internal to this level: the linker must not merge functions of different levels
#include "additive.h"
#include "attention.h"
#include "beam.h"
#include "byte_gradient.h"
#include "distribution.h"
#include "elementwise.h"
#include "lookup.h"
#include "residual.h"
#include "sampled.h"
#include "search_layers.h"
#include "weight_gradient.h"

struct Kernel {
    const char* name;
    const void* of[3];  // by format: float32, bf16, int8
};

#define ONE(name) {#name, {(void*)name, (void*)name, (void*)name}}
#define NUMBERS(name) {#name, {(void*)name<float>, (void*)name<bf16>}}
#define MATRICES(name) {#name, {(void*)name<Fp32>, (void*)name<Bf16>, (void*)name<Int8>}}

const Kernel KERNELS[] = {
#ifdef __AMX_TILE__
    ONE(weight_gradient),
#endif
    ONE(additive), ONE(additive_backward), ONE(byte_weight), ONE(log_normaliser), ONE(refill), ONE(top),
    NUMBERS(attention), NUMBERS(attention_backward), NUMBERS(byte_linear), NUMBERS(byte_weight_gradient),
    NUMBERS(cross_entropy), NUMBERS(sampled_cross_entropy), NUMBERS(lookup), NUMBERS(lookup_backward),
    NUMBERS(dropout), NUMBERS(gelu_tanh), NUMBERS(gelu_tanh_backward), NUMBERS(relu), NUMBERS(relu_backward),
    NUMBERS(residual), NUMBERS(residual_backward),
    MATRICES(decode_cells), MATRICES(encode_cells), MATRICES(keep_source), MATRICES(linear_shared),
    MATRICES(search_windows),
};
}  // namespace

#define JOINED(name, level) name##_##level
#define WITH_LEVEL(name, level) JOINED(name, level)

// The address of a kernel; null: there is none of that name.
extern "C" __attribute__((visibility("default"))) const void* WITH_LEVEL(kernel, LEVEL)(const char* name, int format) {
    for (const Kernel& one : KERNELS)
        if (!strcmp(one.name, name)) return one.of[format];
    return nullptr;
}
