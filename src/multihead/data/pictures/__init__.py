"""Pictures and their classes on disk, how chance changes them in training, and the batches made of them."""
