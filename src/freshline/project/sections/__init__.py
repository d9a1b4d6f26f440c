"""The sections of freshline.yml, one file each."""
