"""The edge: clips, devices and sockets; rate, width and channels are converted once, here."""
