"""Search by native kernels: layers, cache, beam search and the screened output layer."""
