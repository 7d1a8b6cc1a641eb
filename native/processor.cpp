// The processor levels that this processor supports, best first.
#ifdef _WIN32
#error "Windows' C library frees aligned memory in another way; there the plain PyTorch paths are used."
#endif

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>

static bool has_products_of_bytes_without_avx512() {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 4);
}
#endif

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

// Matrix registers are large, so Linux grants them to a process only on request.
static bool has_matrix_registers() {
    unsigned a, b, c, d;
    const unsigned bf16_tile_int8 = 1u << 22 | 1u << 24 | 1u << 25;
    const long ask = 0x1023, tile_data = 18;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & bf16_tile_int8) == bf16_tile_int8 &&
           syscall(SYS_arch_prctl, ask, tile_data) == 0;
}
#else
static bool has_matrix_registers() { return false; }
#endif

extern "C" __attribute__((visibility("default"))) const char* processor_levels() {
    static char levels[80];
    levels[0] = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
    const bool bf16 = vnni && __builtin_cpu_supports("avx512bf16");
    if (bf16 && has_matrix_registers()) strcat(levels, "amx ");
    if (bf16) strcat(levels, "avx512bf16 ");
    if (vnni) strcat(levels, "avx512vnni ");
    if (avx512) strcat(levels, "avx512 ");
    if (avx2 && has_products_of_bytes_without_avx512()) strcat(levels, "avxvnni ");
    if (avx2) strcat(levels, "avx2 ");
#endif
    return strcat(levels, "baseline");
}
