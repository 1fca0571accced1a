"""What judges say of sets of images by the items of a rubric: the index, its items, and how far judges
hold."""
