"""The worker: claims batches of one campaign and hands every message off once. `loop` tells the story."""
