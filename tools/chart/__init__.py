"""The Helm chart's tools: helm itself, and what is generated from `charts/sendonce/values.yaml`.

helm       the program, taken once out of a pinned package
comments   values.yaml with its comments: paths, defaults, descriptions
shapes     what each value may be
schema     values.schema.json of both
readme     README.md of the chart
"""
