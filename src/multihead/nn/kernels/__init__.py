"""Autograd functions that compute an operation of ``nn.ops`` faster; each is tested against its equation."""
