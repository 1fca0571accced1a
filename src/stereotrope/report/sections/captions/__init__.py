"""What captions of pictures say: scores beside the pictures, models side by side, words and what they hit."""
