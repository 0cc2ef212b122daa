"""The demo: record a messy workload, lose the cluster, and browse what is left."""
