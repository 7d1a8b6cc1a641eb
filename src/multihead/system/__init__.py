"""The machine as the package sees it: devices, native kernels, processes, files, randomness, terminals."""
