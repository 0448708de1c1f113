"""Configurations that come with voxring."""
