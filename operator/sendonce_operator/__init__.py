"""The operator: objects of the cluster in, rows and Deployments out, and the truth back into the objects' statuses."""
