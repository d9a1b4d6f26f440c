"""One partition of the tables into tracks a file; found by ``freshline.core.registry``."""
