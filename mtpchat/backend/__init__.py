"""What runs the model: the seam (`protocol`) and its implementation over llama.cpp (`llama`)."""
