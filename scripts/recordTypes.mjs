// The types of the records that have a repository, from their rows: actors may not import the module of the rows.
import { readFileSync } from "node:fs"
import { posix } from "node:path"
import ts from "typescript"

const rowsFile = "src/runtime/postgres/record/RecordTables.ts"
export const recordTypesFile = "src/actors/ports/RecordTypes.ts"

/** The formatter breaks longer lines. */
const lineWidth = 120

/** The rows of the table of tables: the name of each, its comment, and its class. */
const rowsOf = (source) => {
  const [object] = source.statements.flatMap((statement) =>
    ts.isVariableStatement(statement)
      ? statement.declarationList.declarations.flatMap(({ initializer, name }) =>
          name.getText(source) === "tables" ? [initializer] : []
        )
      : []
  )
  return object.properties.map((row) => {
    const stored = row.initializer.arguments[1]
    return {
      name: row.name.getText(source),
      comment: ts
        .getLeadingCommentRanges(source.text, row.getFullStart())
        ?.map(({ end, pos }) => source.text.slice(pos, end)),
      type: (ts.isPropertyAccessExpression(stored) ? stored.expression : stored).getText(source)
    }
  })
}

/** The module of `RecordTypes`: a record has the type of its class's name. */
export const recordTypesModule = () => {
  const source = ts.createSourceFile(rowsFile, readFileSync(rowsFile, "utf8"), ts.ScriptTarget.Latest, true)
  const rows = rowsOf(source)
  const types = new Set(rows.map(({ type }) => type))
  const imports = source.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement)) return []
    const names = (statement.importClause?.namedBindings?.elements ?? []).map(({ name }) => name.text)
    const used = names.filter((name) => types.has(name))
    if (used.length === 0) return []
    const file = posix.join(posix.dirname(rowsFile), statement.moduleSpecifier.text)
    const from = `from "${posix.relative(posix.dirname(recordTypesFile), file)}"`
    const line = `import type { ${used.join(", ")} } ${from}`
    return [line.length <= lineWidth ? line : `import type {\n  ${used.join(",\n  ")}\n} ${from}`]
  })
  return [
    `/** The records that have a repository; generated from \`${rowsFile}\`, where each has its row. */`,
    ...imports,
    "",
    "export interface RecordTypes {",
    ...rows.flatMap(({ comment = [], name, type }) => [
      ...comment.map((text) => `  ${text}`),
      `  readonly ${name}: ${type}`
    ]),
    "}",
    ""
  ].join("\n")
}
