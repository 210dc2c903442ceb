/** The rules on the texts of statements (`scripts/statementRules.mjs`): what may be null, and what is no constant, is found. */
import { assert, describe, it } from "@effect/vitest"
import * as path from "node:path"
import ts from "typescript"

// The script has no types.
const { statementProblems } = (await import(path.resolve("scripts/statementRules.mjs"))) as {
  readonly statementProblems: (
    program: ts.Program,
    files: ReadonlyArray<string>,
    accepted: Readonly<Record<string, string>>
  ) => ReadonlyArray<string>
}

const declarations = `
  interface Sql { (parts: TemplateStringsArray, ...values: ReadonlyArray<unknown>): void; unsafe(text: string, values?: ReadonlyArray<unknown>): void }
  declare const sql: Sql
  declare const add: (value: unknown) => string
  interface Reader { readonly name: string; readonly customerId: string | null }
  declare const reader: Reader
  const columns = "id, name"
`

/** The beginnings of the problems of a file with this text. */
const problemsOf = (text: string, accepted: Readonly<Record<string, string>> = {}) => {
  const options: ts.CompilerOptions = { strict: true, noLib: true, target: ts.ScriptTarget.ESNext }
  const host: ts.CompilerHost = {
    ...ts.createCompilerHost(options),
    getSourceFile: (name, version) =>
      name === "one.ts" ? ts.createSourceFile(name, `${declarations}\n${text}`, version, true) : undefined
  }
  return statementProblems(ts.createProgram(["one.ts"], options, host), ["one.ts"], accepted).map(
    (problem) => problem.split(/: the value| stands/)[0]
  )
}

describe("a statement", () => {
  it.each([
    ["sql`SELECT FROM x WHERE customer_id = ${reader.customerId}`", "one.ts: customer_id = reader.customerId"],
    ["sql`SELECT FROM x WHERE x.customer_id <> ${reader.customerId}`", "one.ts: x.customer_id <> reader.customerId"],
    [
      'sql.unsafe("SELECT bool_or(customer_id = $2) FROM x", [reader.name, reader.customerId])',
      "one.ts: customer_id = $2 reader.customerId"
    ],
    [
      'const where = "customer_id = $1"; sql.unsafe(`SELECT FROM x WHERE ${where}`, [reader.customerId])',
      "one.ts: customer_id = $1 reader.customerId"
    ],
    ["const where = `customer_id = ${add(reader.customerId)}`", "one.ts: customer_id = reader.customerId"]
  ])("that compares what may be null is found: %s", (text, problem) => {
    assert.deepStrictEqual(problemsOf(text), [problem])
    assert.deepStrictEqual(problemsOf(text, { [problem]: "finds nothing" }), [])
  })

  it.each([
    "sql`SELECT FROM x WHERE name = ${reader.name}`",
    "sql`SELECT FROM x WHERE customer_id IS NOT DISTINCT FROM ${reader.customerId}`",
    "sql.unsafe(`SELECT ${columns} FROM x WHERE name = $1`, [reader.name])",
    "const read = (condition: string) => sql.unsafe(`SELECT ${columns} FROM x WHERE ${condition}`)"
  ])("is none of them: %s", (text) => assert.deepStrictEqual(problemsOf(text), []))

  it.each([
    ["const read = (of: Reader) => sql.unsafe(`SELECT FROM x WHERE name = '${of.name}'`)", "one.ts: of.name"],
    ["const read = (name: string) => sql.unsafe(`SELECT ${name} FROM x`)", "one.ts: name"]
  ])("whose text contains a value is found: %s", (text, problem) => assert.deepStrictEqual(problemsOf(text), [problem]))

  it("that is reviewed and gone is named", () =>
    assert.deepStrictEqual(problemsOf("", { "one.ts: a = b": "assigned" }), [
      "one.ts: a = b: scripts/statementRules.mjs names it, and it is gone"
    ]))
})
