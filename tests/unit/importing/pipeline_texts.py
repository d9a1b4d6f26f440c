"""A pipeline that tests of its forms write, and what they ask of the project it becomes."""

SPEC = """\
name: shop
storage: file://{root}/kept
database: shop
configuration:
  spark.sql.session.timeZone: UTC
libraries:
  - glob:
      include: tables/**
"""
SETTINGS = """\
feeds:
  web: {kind: files, path: web, format: json, schema: "id BIGINT, at TIMESTAMP, price DOUBLE"}
  app: {kind: files, path: app, format: json, schema: "price DOUBLE, id BIGINT, at TIMESTAMP"}
scheduler: {tracks: 3}
"""
TABLES = """\
tables:
  by_day: {priority: 3, target_lag: 10 minutes}
"""


def messages(errors):
    return [error.render() for error in errors]
