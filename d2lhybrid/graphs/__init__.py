"""What compilers make of a model: explanations, graphs at each stage, fates of operations."""
