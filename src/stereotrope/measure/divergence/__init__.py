"""How far pictures of one condition are from those of another, and how alike those of one are."""
