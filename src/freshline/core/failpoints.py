"""Moved: ``freshline.failpoints``. Kept for one step while the layers are being written."""

from freshline.failpoints import failpoint

__all__ = ["failpoint"]
