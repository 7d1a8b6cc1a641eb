"""Search on a GPU: CUDA graphs over fixed-size buffers, Triton step attention, beam search."""
