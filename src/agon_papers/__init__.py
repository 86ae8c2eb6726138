"""The three papers: their recorded facts through the metrics of agon, into cells and claims."""
