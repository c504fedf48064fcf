"""What every selector must satisfy."""
