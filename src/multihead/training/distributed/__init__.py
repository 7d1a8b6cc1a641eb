"""Training in several processes: shards of an update, summed gradients, sharded state."""
