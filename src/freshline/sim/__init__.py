"""The discrete-event driver of the same core: scenarios and generated workloads."""
