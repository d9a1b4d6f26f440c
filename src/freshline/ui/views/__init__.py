"""What the page shows, one file a view: each is a function from the journal to a JSON object."""

from freshline.ui.views.registry import VIEWS, View

__all__ = ["VIEWS", "View"]
