"""Search on a GPU: CUDA graphs over buffers of fixed size, Triton step attention, beam."""
