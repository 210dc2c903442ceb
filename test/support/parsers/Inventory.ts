/** Finds the calls of `src` that parse text or decode values, by the top-level declaration that they stand in. */
import { readdirSync, readFileSync } from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript"

const root = fileURLToPath(new URL("../../../", import.meta.url))

const functions =
  /^(?:JSON\.parse|decodeURI(?:Component)?|parseUrl|parseBounded|parse(?:Path|Template)|scan(?:Path|Template|Source|Transform)|compilePattern|RE2JS\.compile|Schema\.decode\w*|decodeStrict|Encoding\.decode\w+|parse(?:All)?Documents?|YAML\.parse\w*)$/
const classes = /^(?:URL|URLSearchParams|RegExp|Cron)$/

const isText = (node: ts.Expression): boolean =>
  ts.isParenthesizedExpression(node) ? isText(node.expression) : ts.isStringLiteralLike(node)

/** The parser that a node calls; `undefined` if none. A text of the program that is split is data of our own. */
const parserOf = (node: ts.Node): string | undefined => {
  if (ts.isNewExpression(node) && ts.isIdentifier(node.expression))
    return classes.test(node.expression.text) ? `new ${node.expression.text}` : undefined
  if (!ts.isCallExpression(node)) return undefined
  const { expression } = node
  if (ts.isPropertyAccessExpression(expression) && expression.name.text === "split")
    return isText(expression.expression) ? undefined : "split"
  const name = expression.getText()
  return functions.test(name) ? name : undefined
}

const namesOf = (statement: ts.Statement): ReadonlyArray<string> => {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.map(({ name }) => name.getText())
  const { name } = statement as { readonly name?: ts.Identifier }
  return [name?.text ?? "statement"]
}

/** Every top-level declaration of `src`, as `file#name`, with the parsers that it calls. */
export const parserCalls = (): ReadonlyMap<string, ReadonlySet<string>> => {
  const found = new Map<string, Set<string>>()
  const files = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" })
  for (const name of files.filter((file) => file.endsWith(".ts"))) {
    const file = `src/${name}`
    const source = ts.createSourceFile(file, readFileSync(path.join(root, file), "utf8"), ts.ScriptTarget.Latest, true)
    for (const statement of source.statements)
      for (const declared of namesOf(statement)) {
        const calls = new Set<string>()
        const visit = (node: ts.Node): void => {
          const parser = parserOf(node)
          if (parser !== undefined) calls.add(parser)
          ts.forEachChild(node, visit)
        }
        visit(statement)
        found.set(`${file}#${declared}`, calls)
      }
  }
  return found
}
