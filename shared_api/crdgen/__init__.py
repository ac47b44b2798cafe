"""From the models to the CustomResourceDefinitions in crds/.

`structural` turns pydantic's JSON schema into the subset that the API server calls
structural, `kinds` adds what a schema does not say (scope, short names, columns, scale), and
`__main__` writes or checks the files. Output depends on the models only.
"""
