/** A migration names the oldest release that may run beside it, and holds no lock while a large table is read. Decision 64. */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { migrations, oldestBeside } from "../../migrations/index.js"
import { serviceRelease } from "../../src/domain/run/ServiceRelease.js"
import { longLocks } from "../support/migrationForms.js"

/** Migrations before ran while no node did. */
const firstBound = 64

const bound = Object.keys(migrations).filter((name) => Number(name.slice(0, 4)) >= firstBound)

describe("a migration", () => {
  it.each(bound)("%s names a release that this one may still run beside, and needs no longer", (name) => {
    const oldest = oldestBeside[name] ?? 0
    assert.isAtLeast(oldest, 1)
    assert.isAtMost(oldest, serviceRelease)
    const text = readFileSync(`migrations/${name}.ts`, "utf8")
    assert.deepStrictEqual(longLocks(text), [])
  })

  it("is listed with its file", () =>
    assert.sameMembers(
      readdirSync("migrations").filter((file) => /^\d{4}_/.test(file)),
      Object.keys(migrations).map((name) => `${name}.ts`)
    ))
})

describe("a statement that holds a lock while a table is read", () => {
  it.each([
    "CREATE INDEX runs_x ON runs (x)",
    "CREATE UNIQUE INDEX runs_x ON runs (x)",
    "ALTER TABLE runs ADD CONSTRAINT runs_x CHECK (x > 0)",
    "ALTER TABLE runs ADD COLUMN x text REFERENCES customers",
    "ALTER TABLE runs ADD COLUMN x int CHECK (x > 0)",
    "ALTER TABLE runs ADD COLUMN at timestamptz NOT NULL DEFAULT now()",
    "ALTER TABLE runs ADD COLUMN x int GENERATED ALWAYS AS (y + 1) STORED",
    "ALTER TABLE runs ALTER COLUMN x TYPE bigint",
    "ALTER TABLE runs ALTER COLUMN x SET NOT NULL",
    "UPDATE runs SET x = 1",
    "DELETE FROM runs WHERE x = 1",
    "LOCK TABLE runs"
  ])("is found: %s", (statement) => {
    const [found = "", ...others] = longLocks(`script("${statement}")`)
    assert.include(found, "Lock on runs")
    assert.isEmpty(others)
    assert.isEmpty(longLocks(`// Lock on runs: rows of unfinished runs only.\nscript("${statement}")`))
    assert.isEmpty(longLocks(`script("CREATE TABLE runs (x int)", "${statement}")`))
  })

  it.each([
    "ALTER TABLE runs ADD COLUMN x text",
    "ALTER TABLE runs ADD COLUMN x integer NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD CONSTRAINT runs_x CHECK (x > 0) NOT VALID",
    "INSERT INTO service_release (confirmed) VALUES (1)",
    "GRANT SELECT, UPDATE (x) ON runs TO svc_writer"
  ])("is none of: %s", (statement) => assert.isEmpty(longLocks(`script("${statement}")`)))
})
