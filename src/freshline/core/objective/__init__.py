"""Target lags, and waiting as long as they allow."""
