"""The Spark session, its JVM, and pinned reads."""
