"""One folder for each box of the picture, one file for each backend."""
