// Checks the types of every file of tsconfig.json as `tsc` does, applies the rules of the Effect language service, and
// prints each violation that is an error, and each of the rules on statements (`statementRules.mjs`). All files share one program, since most of the time goes into their types, and
// rules without errors do not run: the package's own command loads the project again for every 50 files, and runs all
// rules. The exit code is 0 only if there is no violation.
import { checkSourceFileWorker } from "@effect/language-service/effect-lsp-patch-utils.js"
import { createRequire } from "node:module"
import { relative } from "node:path"
import ts from "typescript"
import { statementProblems } from "./statementRules.mjs"

const host = {
  ...ts.sys,
  onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
    throw new Error(ts.flattenDiagnosticMessageText(messageText, "\n"))
  }
}
const { errors, fileNames, options } = ts.getParsedCommandLineOfConfigFile("tsconfig.json", {}, host)
const plugin = options.plugins.find(({ name }) => name === "@effect/language-service")

// The package's schema names each rule with its severity.
const { definitions } = createRequire(import.meta.url)("@effect/language-service/schema.json")
const rules = definitions.effectLanguageServicePluginDiagnosticSeverityDefinition.properties
const severities = { ...plugin.diagnosticSeverity }
for (const [rule, { default: severity }] of Object.entries(rules))
  if ((severities[rule] ?? severity) !== "error") severities[rule] = "off"
plugin.diagnosticSeverity = severities

// The package logs a rule that fails, and reports no violations of that file.
let failures = 0
const { error: log } = console
console.error = (...parts) => {
  failures += 1
  log(...parts)
}

const program = ts.createProgram(fileNames, options)
const violations = [...errors, ...ts.getPreEmitDiagnostics(program)]
for (const name of fileNames) {
  const report = (found) => found.category === ts.DiagnosticCategory.Error && violations.push(found)
  checkSourceFileWorker(ts, program, program.getSourceFile(name), program.getCompilerOptions(), report, "tsc")
}

const sources = fileNames.map((name) => relative(process.cwd(), name)).filter((name) => name.startsWith("src/"))
const statements = statementProblems(program, sources)
for (const problem of statements) console.log(problem)

const format = {
  getCanonicalFileName: (name) => name,
  getCurrentDirectory: () => process.cwd(),
  getNewLine: () => "\n"
}
if (violations.length > 0) console.log(ts.formatDiagnostics(violations, format))
console.log(
  `${fileNames.length} files, ${violations.length + statements.length} violations, ${failures} failures of rules`
)
process.exit(fileNames.length > 0 && violations.length + statements.length + failures === 0 ? 0 : 1)
