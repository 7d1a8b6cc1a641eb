// Which of the levels that the kernels were compiled for this processor can run; the best first.
#ifdef _WIN32
#error "Windows' C library frees aligned memory in another way; there the plain PyTorch paths are used."
#endif

extern "C" __attribute__((visibility("default"))) const char* processor_levels() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni")
                   ? "avx512bf16 avx512 avx2 baseline"
                   : "avx512 avx2 baseline";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2 baseline";
#endif
    return "baseline";
}
