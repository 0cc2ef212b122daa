"""What the stores share that reach their cloud through obstore.  This module does not import it."""
