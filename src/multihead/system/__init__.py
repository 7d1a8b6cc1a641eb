"""What the package needs of a machine: devices, native kernels, processes, files, randomness, terminals."""
