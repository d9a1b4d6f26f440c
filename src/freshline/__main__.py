"""``python -m freshline`` is the program ``freshline``."""

from freshline.cli.main import main

main()
