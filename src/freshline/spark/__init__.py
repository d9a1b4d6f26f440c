"""The only importer of pyspark: sessions, reading feeds, one update as one Delta commit."""
