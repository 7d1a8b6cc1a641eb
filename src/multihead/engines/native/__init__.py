"""Search by the native kernels: layers, cache, beam and the screened output layer."""
