"""Programs of one file each, with what is expected of them in their first lines and in files beside them."""
