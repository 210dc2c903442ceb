/**
 * Compiles a workflow's source to the script that the sandbox runs.
 *
 * `export default async function …` becomes an assignment to `globalThis.__workflow` inside a strict function. Lines
 * and columns stay the same, so that stack traces point into the author's source; only the columns of the first line
 * are shifted, by `firstLineShift`.
 */
import type { AnyNode, ExportDefaultDeclaration, Program } from "acorn"
import { Either } from "effect"
import type { SourceIssue } from "../../../domain/workflow/WorkflowAnalysis.js"
import { guest } from "../../../domain/Limits.js"
import { ModuleParser } from "./Parser.js"
import { constantText, type FunctionNode, isFunction, type Tree, buildTree, syntaxMessage } from "./Syntax.js"

export interface CompiledWorkflow {
  readonly tree: Tree
  /** The function that the default export names. */
  readonly main: FunctionNode
  readonly module: ModuleText
  readonly script: string
}

const scriptPrefix = `"use strict";(function(){`

/**
 * The number of columns by which the first line of the script is shifted to the right of the source's.
 * @internal Tests compare positions with it.
 */
export const firstLineShift = scriptPrefix.length

/** Left: every reason why the source cannot become a workflow. */
export const compile = (source: string): Either.Either<CompiledWorkflow, ReadonlyArray<SourceIssue>> =>
  Either.flatMap(readModule(source), (module) => {
    const { main, issues } = findMain(module)
    if (main === undefined || issues.length > 0) return Either.left(inOrder(issues))
    const text = moduleTextOf(source, main)
    return Either.right({ tree: module.tree, main: main.node, module: text, script: scriptOf(text) })
  })

const inOrder = (issues: ReadonlyArray<SourceIssue>) =>
  issues.toSorted((a, b) => a.line - b.line || a.column - b.column)

/** A module that is parsed: its default exports, and its mistakes beside those of what it exports. */
export interface SourceModule {
  readonly tree: Tree
  readonly defaults: ReadonlyArray<ExportDefaultDeclaration>
  readonly issues: ReadonlyArray<SourceIssue>
}

/** Left: why the source cannot be read as a module. */
export const readModule = (source: string): Either.Either<SourceModule, ReadonlyArray<SourceIssue>> => {
  if (Buffer.byteLength(source) > guest.sourceBytes) {
    const message = `the source is larger than ${guest.sourceBytes / 1024} KiB: move data into the input, a secret or svc.db`
    return Either.left([{ code: "SOURCE_TOO_LARGE", message, line: 1, column: 1 }])
  }
  return Either.flatMap(parseModule(source), (program) => {
    const tree = buildTree(source, program)
    if (tree === undefined) return Either.left([tooComplexIssue])
    const defaults = program.body.filter((one) => one.type === "ExportDefaultDeclaration")
    return Either.right({ tree, defaults, issues: [...findOtherParts(tree), ...findForbidden(tree)] })
  })
}

const tooComplexIssue: SourceIssue = {
  code: "TOO_COMPLEX",
  message: "the source has more than 250,000 expressions: move data into the input, a secret or svc.db",
  line: 1,
  column: 1
}

const parseModule = (source: string): Either.Either<Program, ReadonlyArray<SourceIssue>> =>
  Either.try({
    try: () => ModuleParser.parse(source, { ecmaVersion: 2024, sourceType: "module", allowHashBang: false }),
    catch: (error) => {
      if (error instanceof SyntaxError) return [toSyntaxIssue(error)]
      throw error
    }
  })

const toSyntaxIssue = (error: SyntaxError): SourceIssue => {
  const at = "loc" in error && isPosition(error.loc) ? error.loc : { line: 1, column: 0 }
  const place = { line: at.line, column: at.column + 1 }
  if (error.message.startsWith("Not enough stack space")) return { ...tooDeepIssue, ...place }
  const message = error.message.replace(/ \(\d+:\d+\)$/, "")
  return { code: "SYNTAX_ERROR", message: syntaxMessage(place.line, place.column, message), ...place }
}

/** The parser and the analysis recurse, so that code nested hundreds of levels deep would exhaust the stack. */
export const tooDeepIssue: SourceIssue = {
  code: "NESTED_TOO_DEEPLY",
  message: "the code nests too deeply to be read: split long chains of operators or calls, and data, into parts",
  line: 1,
  column: 1
}

const isPosition = (value: unknown): value is { readonly line: number; readonly column: number } =>
  typeof value === "object" &&
  value !== null &&
  "line" in value &&
  "column" in value &&
  typeof value.line === "number" &&
  typeof value.column === "number"

// --- The default export ---

interface Main {
  readonly statement: ExportDefaultDeclaration
  readonly node: FunctionNode
  /** The name by which the rest of the module can call the function, if it has one. */
  readonly name: string | undefined
}

/** Imports, and exports beside the default one. */
const findOtherParts = (tree: Tree): ReadonlyArray<SourceIssue> =>
  tree.program.body.flatMap((statement) => {
    switch (statement.type) {
      case "ImportDeclaration": {
        const message = "a workflow imports nothing: what it may use is global (svc, fetch, crypto …)"
        return [tree.issue(statement, "IMPORT_NOT_ALLOWED", message)]
      }
      case "ExportNamedDeclaration":
      case "ExportAllDeclaration": {
        const message = "a workflow has its default export only: remove this export"
        return [tree.issue(statement, "EXPORT_NOT_ALLOWED", message)]
      }
      default:
        return []
    }
  })

/** The issue of a module without a default export. `form`: what to write. */
export const noDefaultIssue = (form: string): SourceIssue => ({
  code: "NO_DEFAULT_EXPORT",
  message: `the default export is missing: ${form}`,
  line: 1,
  column: 1
})

const findMain = ({
  defaults,
  issues: others,
  tree
}: SourceModule): { readonly main: Main | undefined; readonly issues: ReadonlyArray<SourceIssue> } => {
  const issues = [...others]
  let main: Main | undefined
  for (const statement of defaults) {
    const found = findMainFunction(statement, tree.program)
    if (found === undefined)
      issues.push(
        tree.issue(
          statement,
          "DEFAULT_NOT_FUNCTION",
          "the default export must be a function: export default async function (ctx) { … }"
        )
      )
    else if (!found.node.async || found.node.generator) {
      issues.push(
        tree.issue(
          found.node,
          "DEFAULT_NOT_ASYNC",
          `the default export must be an async function${found.node.generator ? ", not a generator" : ": write async before it"}`
        )
      )
    } else main = found
  }
  if (defaults.length === 0) issues.push(noDefaultIssue("export default async function (ctx) { … }"))
  return { main, issues }
}

const findMainFunction = (statement: ExportDefaultDeclaration, program: Program): Main | undefined => {
  const { declaration } = statement
  if (isFunction(declaration)) {
    const name = declaration.type === "FunctionDeclaration" ? declaration.id?.name : undefined
    return { statement, node: declaration, name }
  }
  if (declaration.type !== "Identifier") return undefined
  for (const candidate of program.body) {
    if (candidate.type === "FunctionDeclaration" && candidate.id.name === declaration.name) {
      return { statement, node: candidate, name: undefined }
    }
    if (candidate.type !== "VariableDeclaration" || candidate.kind !== "const") continue
    for (const { id, init } of candidate.declarations) {
      if (id.type === "Identifier" && id.name === declaration.name && isFunction(init))
        return { statement, node: init, name: undefined }
    }
  }
  return undefined
}

/** Syntax that is valid in a module and that a workflow's script may not contain. */
const findForbidden = (tree: Tree): ReadonlyArray<SourceIssue> => {
  const issues: Array<SourceIssue> = []
  tree.nodes.forEach((node, at) => {
    if (node.type === "ImportExpression") {
      issues.push(tree.issue(node, "DYNAMIC_IMPORT", "a workflow imports nothing: import() is not available"))
    } else if (node.type === "MetaProperty" && node.meta.name === "import") {
      issues.push(tree.issue(node, "DYNAMIC_IMPORT", "import.meta is not available"))
    } else if (hasFlagV(node)) {
      issues.push(
        tree.issue(
          node,
          "REGEXP_FLAG_V",
          "the flag v of a regular expression gives wrong results here: use the flag u, and write the set out"
        )
      )
    } else if (isHtmlCommentInScript(node, tree.source)) {
      issues.push(
        tree.issue(node, "SYNTAX_ERROR", "<!-- and --> begin a comment in a script: put spaces between the operators")
      )
    } else if (
      (node.type === "AwaitExpression" || (node.type === "ForOfStatement" && node.await)) &&
      isOutsideFunctions(tree, at)
    ) {
      issues.push(tree.issue(node, "SYNTAX_ERROR", "await works inside of async functions only"))
    }
  })
  return issues
}

/**
 * Whether a regular expression has the flag `v`, which the engine accepts and does not implement. Flags computed at run
 * time are not found.
 */
const hasFlagV = (node: AnyNode): boolean => {
  if (node.type === "Literal") return node.regex?.flags.includes("v") === true
  if (node.type !== "NewExpression" && node.type !== "CallExpression") return false
  if (node.callee.type !== "Identifier" || node.callee.name !== "RegExp") return false
  return constantText(node.arguments[1])?.includes("v") === true
}

/** Whether no function contains the node. */
const isOutsideFunctions = (tree: Tree, index: number): boolean => {
  for (let at = index; at >= 0; at = tree.parents[at] ?? -1) if (isFunction(tree.nodes[at])) return false
  return true
}

/**
 * Whether operators that are `<!--` or `-->` begin a comment in a script, though not in a module: other code would run
 * than was checked.
 */
const isHtmlCommentInScript = (node: AnyNode, source: string): boolean => {
  if (node.type !== "BinaryExpression") return false
  if (node.operator === "<") return source.startsWith("<!--", node.right.start - 1)
  if (node.operator !== ">" || !source.startsWith("-->", node.left.end - 2)) return false
  const line = source.slice(
    Math.max(source.lastIndexOf("\n", node.left.end), source.lastIndexOf("\r", node.left.end)) + 1,
    node.left.end - 2
  )
  return /(^|\*\/)\s*$/.test(line)
}

// --- The script ---

const exportLength = "export".length
const defaultLength = "default".length
const blankPattern = /^(?:\s|\/\*[\s\S]*?\*\/|\/\/[^\n\r\u2028\u2029]*)*/

/** A module without its export: the name of the default export's function, and text with the source's lines. */
export interface ModuleText {
  readonly text: string
  readonly name: string
}

/** Replaces the words `export` and `default` by text of the same length, so that every position stays the same. */
export const moduleTextOf = (source: string, main: Pick<Main, "statement" | "name">): ModuleText => {
  const { start, end } = main.statement
  const between = blankPattern.exec(source.slice(start + exportLength, end))?.[0] ?? ""
  const body = source.slice(start + exportLength + between.length + defaultLength, end)
  const name = main.name ?? unusedName(source)
  // A function declaration with a name remains a declaration, so that the rest of the module can call it.
  const words =
    main.name === undefined ? ["var   ", `${name} =`] : [" ".repeat(exportLength), " ".repeat(defaultLength)]
  return { text: `${source.slice(0, start)}${words[0]}${between}${words[1]}${body};${source.slice(end)}`, name }
}

const scriptOf = ({ name, text }: ModuleText): string => `${scriptPrefix}${text}\nglobalThis.__workflow=${name}\n})();`

/** A name of five letters that the source does not contain. */
const unusedName = (source: string): string => {
  for (let i = 0; ; i++) {
    const name = `$${i.toString(36).padStart(4, "_")}`
    if (!source.includes(name)) return name
  }
}
