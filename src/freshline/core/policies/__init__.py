"""One policy a file; the folder is scanned by ``freshline.core.registry``."""
