"""Generates the CustomResourceDefinitions in crds/ from the models: `python -m crdgen`.

`structural` turns pydantic's JSON schema into a structural schema. `kinds` adds what is not in the
schema (scope, short names, columns, scale). `__main__` writes or checks the files. The output
depends on the models only. The product must not import this package.
"""
