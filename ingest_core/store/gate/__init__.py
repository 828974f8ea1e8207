"""Rate limiters, shared by all workers, and the caps of partitions."""
