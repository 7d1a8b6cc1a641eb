"""Image data: readers, stores, augmentation and batches."""
