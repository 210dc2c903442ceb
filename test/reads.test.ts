/**
 * Rows of the database are decoded where they are read, or the read says why not. The pools' client gives rows no type
 * (`src/runtime/postgres/database/Sql.ts`), so that a read has one by `rowDecoder`, or by a cast that this test finds.
 */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import ts from "typescript"

const reason = /\bnot decoded, (?:since|for the same reason)/i
/** Files that need the library's own client, which gives rows any type. */
const ownClients = [
  "src/runtime/postgres/database/Pools.ts", // makes the clients of the pools
  "src/runtime/postgres/database/pool/ConnectionLoss.ts", // mends their transactions
  "src/runtime/postgres/database/Sql.ts", // takes the types from them away
  "src/runtime/postgres/database/Migrations.ts", // runs the migrations, which use it
  "src/runtime/postgres/database/OutsideTransaction.ts" // leaves the caller's transaction
]

/** The comments that lead to a node within its statement, or follow it on its line. */
const commentsOf = (source: ts.SourceFile, node: ts.Node): string => {
  const found: Array<string> = []
  const add = (ranges: ReadonlyArray<ts.CommentRange> | undefined) => {
    for (const { end, pos } of ranges ?? []) found.push(source.text.slice(pos, end))
  }
  add(ts.getTrailingCommentRanges(source.text, node.getEnd()))
  for (let at: ts.Node = node; !ts.isSourceFile(at); at = at.parent) {
    add(ts.getLeadingCommentRanges(source.text, at.getFullStart()))
    if (ts.isStatement(at)) break
  }
  return found.join("\n")
}

/** The reads of a file whose rows are neither decoded nor cast with a reason. */
const readsWithoutReason = (file: string, text: string): ReadonlyArray<string> => {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const isRead = /\/database\/(?:Sql|Pools)\.js"/.test(text) || /^src\/runtime\/(?:postgres|audit)\//.test(file)
  const found: Array<string> = []
  const visit = (node: ts.Node): void => {
    const report = (what: string) =>
      found.push(`${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${what}`)
    if (ts.isImportDeclaration(node) && /^import .*\b(?:Sql|Pg)Client\b.* from "@effect\/sql/.test(node.getText()))
      if (!ownClients.includes(file)) report("takes a client that gives rows any type")
    if (ts.isTaggedTemplateExpression(node) && node.typeArguments !== undefined) report("gives rows a type")
    if (ts.isCallExpression(node)) {
      const called = node.expression
      const name = ts.isPropertyAccessExpression(called) ? called.name.text : called.getText()
      if (name === "unsafe" && node.typeArguments !== undefined) report("gives rows a type")
      // The catalogue and the functions of Postgres have the types that its manual says.
      const isQuery =
        name === "query" && node.typeArguments !== undefined && !/\bpg_|current_setting/.test(node.getText())
      const isCast = name === "castRows" || isQuery
      if (isCast && !reason.test(commentsOf(source, node))) report("does not say why rows are not decoded")
    }
    // A name may be cast, a value that was read not.
    if (ts.isAsExpression(node) && isRead && !/^(?:const|"\w+")$/.test(node.type.getText()))
      if (!ts.isStringLiteral(node.expression) && commentsOf(source, node) === "")
        report("casts a value without a reason")
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

describe("a read of the database", () => {
  it("decodes its rows, or says why not", () => {
    const files = readdirSync("src", { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => `src/${name}`)
    assert.isAbove(files.length, 500)
    assert.deepStrictEqual(
      files.flatMap((file) => readsWithoutReason(file, readFileSync(file, "utf8"))),
      []
    )
  })

  const file = "src/runtime/postgres/X.ts"
  it.each([
    "const rows = yield* sql<Row>`SELECT 1`",
    'const rows = yield* sql.unsafe<Row>("SELECT 1")',
    "const rows = (yield* sql`SELECT 1`) as ReadonlyArray<Row>",
    "const read = castRows<Row>(sql`SELECT 1`)",
    "// Reads it.\nconst read = castRows<Row>(sql`SELECT 1`)",
    "// Not decoded, since it is hot.\nconst other = 1\nconst read = castRows<Row>(sql`SELECT 1`)",
    'const { rows } = await client.query<Row>("SELECT 1")',
    'import type { SqlClient } from "@effect/sql/SqlClient"'
  ])("is found if it is neither: %s", (text) => assert.lengthOf(readsWithoutReason(file, text), 1))

  it.each([
    "// Not decoded, since it is hot.\nconst read = castRows<Row>(sql`SELECT 1`)",
    "const read = {\n  // Not decoded, since it is hot.\n  rows: castRows<Row>(sql`SELECT 1`)\n}",
    "const rows = (yield* sql`SELECT 1`).map(decode)"
  ])("passes: %s", (text) => assert.lengthOf(readsWithoutReason(file, text), 0))
})
