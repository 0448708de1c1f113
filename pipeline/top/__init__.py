"""`voxring top`: what a running pipeline does, seen from outside and without disturbing it."""
