"""What is trained on, on disk in the form in which it is read, and the batches made of it."""
