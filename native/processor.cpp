// Which of the levels that the kernels were compiled for this processor can run; the best first.
#ifdef _WIN32
#error "Windows' C library frees aligned memory in another way; there the plain PyTorch paths are used."
#endif

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

// Matrix registers are large, so Linux gives them only to processes that ask.
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
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return !__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512vnni")
                   ? "avx512 avx2 baseline"
               : has_matrix_registers() ? "amx avx512bf16 avx512 avx2 baseline"
                                        : "avx512bf16 avx512 avx2 baseline";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2 baseline";
#endif
    return "baseline";
}
