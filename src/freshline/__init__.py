"""freshline: a freshness scheduler for streaming warehouses on Spark and Delta Lake."""

__version__ = "0.1.0"
