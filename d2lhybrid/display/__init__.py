"""Tables, plots, pictures of graphs and progress: they know no result, only rows and axes."""
