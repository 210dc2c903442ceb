// Writes the declarations of the RPC client into dist/rpc/, before the package is packed. A test of the package does, too.
import { rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const host = {
  ...ts.sys,
  onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
    throw new Error(ts.flattenDiagnosticMessageText(messageText, "\n"))
  }
}
const { options } = ts.getParsedCommandLineOfConfigFile(join(root, "tsconfig.json"), {}, host)
const outDir = join(root, "dist/rpc")
rmSync(outDir, { recursive: true, force: true })
const program = ts.createProgram([join(root, "src/http/rpc/client/Package.ts")], {
  ...options,
  noEmit: false,
  declaration: true,
  emitDeclarationOnly: true,
  stripInternal: true,
  removeComments: false,
  rootDir: join(root, "src"),
  outDir
})
const { diagnostics } = program.emit()
const format = { getCanonicalFileName: (name) => name, getCurrentDirectory: () => root, getNewLine: () => "\n" }
if (diagnostics.length > 0) console.error(ts.formatDiagnostics(diagnostics, format))
process.exit(diagnostics.length === 0 ? 0 : 1)
