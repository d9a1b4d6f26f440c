"""Who runs the warehouse of a storage: the lease, where it stands, and taking it over."""
